"""Photographs of scikit-image for the demos that look at pictures."""

import shutil

import wheels

# File in scikit-image's data folder, caption, author and licence.
PHOTOS = [
    ('chelsea.png', 'Chelsea the cat', 'Stefan van der Walt, CC0'),
    ('coffee.png', 'a cup of espresso', 'Rachel Michetti, CC0'),
    ('camera.png', 'a man with a camera', 'Lav Varshney, CC0'),
    ('rocket.jpg', 'a rocket launch', 'SpaceX, public domain'),
    ('astronaut.png', 'Eileen Collins', 'NASA, public domain'),
]


def copied_to(folder):
    """Copies the photographs to folder/photos. Returns (path, facts for the page) for each; raises wheels.Missing without them."""
    source = wheels.files('skimage') / 'skimage' / 'data'
    (folder / 'photos').mkdir(parents=True, exist_ok=True)
    return [(shutil.copyfile(source / file, folder / 'photos' / file), {'file': file, 'caption': caption, 'credit': credit})
            for file, caption, credit in PHOTOS]
