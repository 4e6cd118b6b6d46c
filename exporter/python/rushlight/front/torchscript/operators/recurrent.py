# Follows aten/src/ATen/native/mkldnn/RNN.cpp


def mkldnn_rnn_layer(x, w_ih, w_hh, b_ih, b_hh, hx, cx, reverse: bool, batch_sizes: List[int], mode: int, hidden_size: int, num_layers: int,
                     has_biases: bool, bidirectional: bool, batch_first: bool, train: bool):
    assert mode == 2, "mkldnn_rnn_layer is supported for an LSTM only"
    assert num_layers == 1 and not bidirectional and not batch_first and len(batch_sizes) == 0, "mkldnn_rnn_layer is one layer in one direction"
    weights = [w_ih, w_hh, b_ih, b_hh] if has_biases else [w_ih, w_hh]
    y, h, c = torch.lstm(torch.flip(x, [0]) if reverse else x, [hx, cx], weights, has_biases, 1, 0.0, False, False, False)
    return torch.flip(y, [0]) if reverse else y, h, c, torch.zeros([0], dtype=torch.uint8)
