import { useEffect, useState } from 'react';
import gate from 'rushlight/gate.rush?url';

import { useModel } from './useModel.js';

export function App() {
  const { model, error } = useModel(gate);
  const [text, setText] = useState('1 2 3 4');
  const [answer, setAnswer] = useState('…');

  useEffect(() => {
    let current = true;
    const x = [text.trim().split(/\s+/).map(Number)];
    model?.run({ x }).then(
      ({ y }) => current && setAnswer([...y.data].map((v) => v.toFixed(1)).join(' ')),
      (e) => current && setAnswer(e.message),
    );
    return () => {
      current = false;
    };
  }, [model, text]);

  return (
    <>
      <label>
        Four numbers <input value={text} onChange={(e) => setText(e.target.value)} />
      </label>
      <output>{error?.message ?? answer}</output>
    </>
  );
}
