"""The architectures that AutoModel of transformers knows, with small configurations."""

import contextlib
import os

os.environ["HF_HUB_OFFLINE"] = "1"  # weights are random
import torch  # noqa: E402
import transformers  # noqa: E402
from entry import Entry, tensors_of  # noqa: E402
from transformers import masking_utils  # noqa: E402
from transformers.models.auto import modeling_auto  # noqa: E402
from transformers_configs import config_of  # noqa: E402
from transformers_inputs import inputs_of  # noqa: E402

# Models whose AutoModel class has no forward() of tensors: {name: the class to use, where its configuration is}.
OTHERS = {"bark": ("BarkSemanticModel", "semantic_config"), "jukebox": ("JukeboxVQVAE", "vqvae_config"),
          "musicgen": ("MusicgenForConditionalGeneration", None), "musicgen_melody": ("MusicgenMelodyForConditionalGeneration", None)}
OPTIONS = {"vit_hybrid": {"use_mask_token": True}}  # for the class
SIZES = {"image_sizes": [[56, 56], [56, 56]]}
# Arguments for models that return more than tensors, or need arguments that are not tensors: {name: arguments}.
BOUND = {"mimi": {}, "udop": {"use_cache": False}, "llava_next": SIZES, "llava_next_video": SIZES, "llava_onevision": SIZES}
DETECTORS = {"rt_detr", "rt_detr_v2", "d_fine"}  # models that choose the positions of the greatest scores


def everywhere(of_place):
    """Makes a mask of all positions from a function of a batch, a head, a query and a key."""
    def mask(batch, head, query, key):
        places = torch.meshgrid(batch, head, query, key, indexing="ij")
        return of_place(*places)
    return mask


# transformers uses vmap for this, which PyTorch can neither trace nor export.
masking_utils._vmap_for_bhqkv = lambda of_place, bh_indices=True: everywhere(of_place)
masking_utils.TransformGetItemToIndex = contextlib.nullcontext


def names():
    return [name for name in modeling_auto.MODEL_MAPPING_NAMES if hasattr(transformers, class_of(name))]


def kind(name):
    """Returns the only heading of the page."""
    return "architectures"


def class_of(name):
    found = modeling_auto.MODEL_MAPPING_NAMES[name]
    return found if isinstance(found, str) else found[0]


class Bound(torch.nn.Module):
    """A model with fixed arguments that are not tensors. It returns only the tensors of the answer."""

    def __init__(self, model, names, fixed):
        super().__init__()
        self.model, self.names, self.fixed = model, names, fixed

    def forward(self, *tensors):
        return tuple(tensors_of(self.model(**dict(zip(self.names, tensors)), **self.fixed)))


def set_apart(model):
    """Sets weights for which scores differ by more than rounding, so that rounding does not decide which are the greatest."""
    with torch.no_grad():
        for path, weight in model.named_parameters():
            if weight.dim() > 1 and "backbone" not in path:
                torch.nn.init.normal_(weight, std=weight[0].numel() ** -0.5)


def make(name):
    config, cls = config_of(name), class_of(name)
    if name in OTHERS:
        cls, part = OTHERS[name]
        config = getattr(config, part) if part else config
    torch.manual_seed(1)
    for as_dict in (False, True):  # a few models need named arguments
        config.return_dict = as_dict
        model = getattr(transformers, cls)(config, **OPTIONS.get(name, {})).eval()
        if name in DETECTORS:
            set_apart(model)
        try:
            given = inputs_of(name, model, config, BOUND.get(name, {}))
            made = Entry(Bound(model, list(given), BOUND[name]), tuple(given.values())) if name in BOUND else Entry(model, given)
            made.answer()
            return made
        except AttributeError:
            if as_dict:
                raise
