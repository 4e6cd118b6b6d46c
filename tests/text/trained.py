"""Tokenizers of three kinds, trained on lines in twenty scripts and on the sources of Python's library."""

import pathlib
import random
import sysconfig

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers


def _sources():
    """Returns lines of installed Python files, which have prose as well."""
    library = pathlib.Path(sysconfig.get_path("stdlib"))
    return [line for name in ("argparse.py", "textwrap.py", "inspect.py", "turtle.py") for line in (library / name).read_text().splitlines()]


def _byte_level():
    made = Tokenizer(models.BPE())
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    return made, trainers.BpeTrainer(vocab_size=3000, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=["<|end|>"])


def _word_piece():
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = normalizers.BertNormalizer(lowercase=True), pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    made.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    return made, trainers.WordPieceTrainer(vocab_size=3000, special_tokens=["[UNK]", "[CLS]", "[SEP]"])


def _unigram():
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer, made.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    return made, trainers.UnigramTrainer(vocab_size=3000, special_tokens=["<unk>"], unk_token="<unk>")


KINDS = {"byte-level BPE": _byte_level, "WordPiece": _word_piece, "Unigram": _unigram}


def trained(lines):
    """Returns {kind: tokenizer}."""
    texts = [*lines, *_sources()]
    random.Random(0).shuffle(texts)
    out = {}
    for kind, make in KINDS.items():
        tokenizer, trainer = make()
        trainer.show_progress = False
        tokenizer.train_from_iterator(texts, trainer)
        out[kind] = tokenizer
    return out
