import { useEffect, useState } from 'react';
import { load } from 'rushlight';

/**
 * Loads a model for a component, and disposes of it when the component is removed.
 * @param {string} url
 * @returns {{ model: import('rushlight').Model | undefined, error: Error | undefined }}
 */
export function useModel(url) {
  const [state, setState] = useState({});
  useEffect(() => {
    const stop = new AbortController();
    const loading = load(url, { worker: true, cache: 'auto', signal: stop.signal });
    loading.then(
      (model) => setState({ model }),
      (error) => stop.signal.aborted || setState({ error }),
    );
    return () => {
      stop.abort();
      loading.then((model) => model.dispose()).catch(() => {});
      setState({});
    };
  }, [url]);
  return { model: state.model, error: state.error };
}
