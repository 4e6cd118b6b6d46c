'use client';

import { useEffect } from 'react';
import { check } from '../check.js';

export default function Page() {
  useEffect(() => {
    globalThis.check = check;
  });
  return <p>rushlight</p>;
}
