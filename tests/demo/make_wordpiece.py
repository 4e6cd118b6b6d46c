"""Writes wordpiece.json: texts and the ids that Hugging Face's own tokenizer gives them.

Run by hand, with `tokenizers` from PyPI on the path:
    pip install --target DIR tokenizers==0.23.3
    PYTHONPATH=DIR ./dev shell python3 tests/demo/make_wordpiece.py
"""

import json
import sys
from pathlib import Path

from tokenizers import Tokenizer

HERE = Path(__file__).resolve().parent
DEMO = HERE.parents[1] / 'demo' / '02-semantic-search'
sys.path.insert(0, str(DEMO))
import minilm  # noqa: E402

TEXTS = [
    '', ' ', '\t\n', '.', '...', 'a', 'A', 'hello', 'Hello, World!', 'hello   world', ' leading',
    'trailing ', 'unaffable', 'electroencephalographically', "don't", "it's 5 o'clock",
    'e-mail: someone@example.org', 'https://example.org/a?b=c&d=e#f', '3.14159', '1,000,000.50',
    '100%', '$5 + €7 = £10?', 'C++ & C#', 'snake_case and CamelCase', '[CLS] [SEP] [MASK] [PAD]',
    '[UNK]', '[cls]', '<b>bold</b>', '"quoted" ‘single’ “double” «french»', 'em—dash en–dash',
    'ellipsis… dots', 'naïve café résumé', 'Crème Brûlée', 'Ångström', 'ÉCOLE', 'straße STRASSE ẞ',
    'İstanbul ıI', 'Ελληνικά ΣΊΣΥΦΟΣ', 'Русский язык', 'Ёлка йод', 'العَرَبِيَّة', 'עִבְרִית', 'हिन्दी', 'ไทย',
    '中文', '日本語のテキスト', '漢字kanji混ぜ', '한국어', '한국어'.encode().decode(), '繁體中文，標點。',
    'ｆｕｌｌ　ｗｉｄｔｈ', '😀', 'smile 😀 now', '👩‍👩‍👧', '🇩🇪', '½ ² ③ Ⅷ', 'ﬁ ﬂ ligatures', 'x²+y²=z²',
    '∀x∈ℝ', 'soft\u00adhyphen', 'zero\u200bwidth', 'joiner\u200dhere', 'bom\ufeffhere',
    'non\u00a0breaking', 'line\u2028separator', 'control\u0001char', 'null\u0000char',
    'replacement\ufffdchar', 'combining e\u0301 a\u0308', 'tab\tand\r\nnewline', '\u3000ideographic',
    'private\ue000use', '\U00020000\U0002a6df', '\U0001d400\U0001d401', 'a' * 100, 'a' * 101,
    'word' * 60, '^`~|\\{}@', '§¶†‡•', '°C ™ ® ©', 'no.dots.between', 'AT&T', 'U.S.A.', "rock'n'roll",
    'twenty-eight', '2026-01-31T12:34:56Z', '#hashtag @mention', 'x' * 30 + ' ' + 'qzj' * 20,
]


def main():
    tokenizer = Tokenizer.from_file(str(minilm.model_folder() / 'tokenizer.json'))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    texts = list(dict.fromkeys(TEXTS))
    texts += (DEMO / 'sentences.txt').read_text(encoding='utf-8').splitlines()
    rows = [json.dumps([text, tokenizer.encode(text).ids], ensure_ascii=True) for text in texts]
    (HERE / 'wordpiece.json').write_text('[\n' + ',\n'.join(rows) + '\n]\n')


if __name__ == '__main__':
    main()
