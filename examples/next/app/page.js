import { Gate } from './Gate.js';

export default function Page() {
  return <Gate />;
}
