'use client';

import { useEffect, useRef, useState } from 'react';
import { load } from 'rushlight';

/** Runs the model in the browser. */
export function Gate() {
  const [text, setText] = useState('1 2 3 4');
  const [answer, setAnswer] = useState('…');
  const model = useRef(undefined);

  useEffect(() => {
    model.current ??= load('/gate.rush', { worker: true, cache: 'auto' });
    let current = true;
    const x = [text.trim().split(/\s+/).map(Number)];
    model.current
      .then((loaded) => loaded.run({ x }))
      .then(
        ({ y }) => current && setAnswer([...y.data].map((v) => v.toFixed(1)).join(' ')),
        (e) => current && setAnswer(e.message),
      );
    return () => {
      current = false;
    };
  }, [text]);

  return (
    <>
      <label>
        Four numbers <input value={text} onChange={(e) => setText(e.target.value)} />
      </label>
      <output>{answer}</output>
    </>
  );
}
