"""Completes the pages that the generators made: python3 web/finish.py FOLDER

It copies the 404 page, and writes sitemap.xml if js/package.json has the address of the site. The titles of Doxygen's pages become
headings, and pdoc's links to a name get that name.
"""

import json
import re
import shutil
import sys
from pathlib import Path
from xml.sax.saxutils import escape

TOP = Path(__file__).resolve().parents[1]


def sitemap(folder, home):
    """Returns the sitemap of all pages. Other generators' pages of names alone are left out."""
    pages = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.html") if path.name != "404.html")
    places = [home.rstrip("/") + "/" + re.sub(r"(^|/)index\.html$", r"\1", page) for page in pages]
    urls = "".join(f"  <url><loc>{escape(place)}</loc></url>\n" for place in places)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{urls}</urlset>\n'


def main(folder):
    shutil.copy(TOP / "web" / "404.html", folder)
    for page in (folder / "c").glob("*.html"):
        if re.match(r"(annotated|classes|files|functions|globals)", page.name):
            page.unlink()  # no page links to these lists
            continue
        page.write_text(re.sub(r'<div class="title">(.*?)</div>', r'<h1 class="title">\1</h1>', page.read_text()))
    for page in (folder / "python").glob("*.html"):
        text = re.sub(r'(<a class="headerlink" href="#([^"]*)")', r'\1 aria-label="Link to \2"', page.read_text())
        page.write_text(re.sub(r"<(/?)h6\b", r"<\1h2", text))
    home = json.loads((TOP / "js" / "package.json").read_text()).get("homepage")
    if home:
        (folder / "sitemap.xml").write_text(sitemap(folder, home))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
