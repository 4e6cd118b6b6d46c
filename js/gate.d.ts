// Made from gate.rush by npx rushlight types. Sizes are those of the export's examples.
import type { Tensor, TensorLike } from 'rushlight';

export type Gate = {
  forward: {
    inputs: {
      /** float32 [batch, 4] */
      x: TensorLike<'float32'>;
    };
    outputs: {
      /** float32 [?, 3] */
      y: Tensor<'float32'>;
    };
    args: [x: TensorLike<'float32'>];
    result: Tensor<'float32'>;
  };
};
