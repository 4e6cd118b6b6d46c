"""Inputs for the models of transformers: by the parameter names of forward(), and a table for models that need more."""

import functools
import inspect
import re

import torch
from transformers_configs import LENGTH, WIDTH, words_of

MAX_TOKENS = 80  # tokens that an image has in a text


def ones(*size):
    return torch.ones(size, dtype=torch.long)


def tokens(*size):
    return torch.randint(3, 60, size)


def series():
    """Makes inputs of a time series: context and lags, then future values."""
    return {"past_values": torch.randn(2, 16), "past_time_features": torch.randn(2, 16, 1), "past_observed_mask": torch.ones(2, 16),
            "future_values": torch.randn(2, 6), "future_time_features": torch.randn(2, 6, 1)}


def graph(nodes=5):
    return {"input_nodes": tokens(2, nodes, 1), "input_edges": tokens(2, nodes, nodes, 5, 1), "attn_bias": torch.randn(2, nodes + 1, nodes + 1),
            "in_degree": tokens(2, nodes), "out_degree": tokens(2, nodes), "spatial_pos": tokens(2, nodes, nodes), "attn_edge_type": tokens(2, nodes, nodes, 1)}


def patches():
    """Makes patches of images with several shapes."""
    return {"pixel_values": torch.randn(2, 16, 768), "pixel_attention_mask": ones(2, 16), "spatial_shapes": torch.tensor([[4, 4], [2, 8]])}


def question():
    return {"qformer_input_ids": tokens(2, 6), "qformer_attention_mask": ones(2, 6)}


def boxes(length=LENGTH):
    """Makes boxes: left, top, right and bottom in thousandths."""
    return torch.cat([torch.randint(0, 500, (2, length, 2)), torch.randint(500, 1000, (2, length, 2))], -1)


def detection():
    return {"classes_input_ids": tokens(4, 6), "classes_attention_mask": ones(4, 6), "tasks_input_ids": tokens(2, 6), "tasks_attention_mask": ones(2, 6),
            "classes_structure": torch.tensor([2, 2])}


def image(*size):
    return lambda: {"pixel_values": torch.randn(size)}


def sound(*size):
    return lambda: {"input_values": torch.randn(size)}


def spectrum(*size):
    return lambda: {"input_features": torch.randn(size)}


def pointed():
    return {"pixel_values": torch.randn(1, 3, 128, 128), "input_points": 128 * torch.rand(1, 1, 2, 2), "input_labels": ones(1, 1, 2)}


# Inputs that are added to those by name, or replace them. None removes an input.
INPUTS = {
    "audio-spectrogram-transformer": sound(2, 64, 128), "dac": sound(2, 1, 2000), "encodec": sound(2, 1, 2000), "mimi": sound(2, 1, 4000), "xcodec": sound(2, 1, 16000),
    "bros": lambda: {"bbox": torch.rand(2, LENGTH, 8)},
    "blip_2_qformer": lambda: {"query_embeds": torch.randn(2, 6, WIDTH), "encoder_hidden_states": torch.randn(2, 5, WIDTH)},
    "lxmert": lambda: {"visual_feats": torch.randn(2, 5, WIDTH), "visual_pos": torch.rand(2, 5, 4)}, "mctct": spectrum(2, 100, 80),
    "patchtst": lambda: {"past_values": torch.randn(2, 32, 1)}, "patchtsmixer": lambda: {"past_values": torch.randn(2, 32, 1)},
    "perceiver": lambda: {"inputs": torch.randn(2, 20, WIDTH)}, "speech_to_text": spectrum(2, 100, 80), "parakeet_encoder": spectrum(2, 100, 80),
    "parakeet_ctc": spectrum(2, 100, 80), "efficientloftr": image(1, 2, 1, 64, 64), "lightglue": image(1, 2, 3, 64, 64),
    "decision_transformer": lambda: {"states": torch.randn(2, 5, 17), "actions": torch.randn(2, 5, 4), "rewards": torch.randn(2, 5, 1),
                                     "returns_to_go": torch.randn(2, 5, 1), "timesteps": torch.arange(5).repeat(2, 1), "attention_mask": torch.ones(2, 5)},
    **dict.fromkeys(("siglip2_vision_model", "siglip2", "lfm2_vl"), patches), **dict.fromkeys(("autoformer", "informer", "time_series_transformer"), series),
    **dict.fromkeys(("instructblip", "instructblipvideo"), question), "graphormer": graph, "omdet-turbo": detection,
    "instructblipvideo": lambda: {**question(), "pixel_values": torch.randn(2, 2, 3, 56, 56)},
    **dict.fromkeys(("idefics2", "idefics3", "smolvlm"), lambda: {"pixel_values": torch.randn(2, 1, 3, 128, 128)}),
    "idefics": lambda: {"pixel_values": torch.randn(2, 1, 3, 56, 56), "image_attention_mask": ones(2, LENGTH, 1)},
    **dict.fromkeys(("timesformer", "vivit"), lambda: {"pixel_values": torch.randn(1, 4, 3, 64, 64)}),
    **dict.fromkeys(("sam", "sam_hq", "sam2", "edgetam"), pointed), **dict.fromkeys(("sam2_vision_model", "sam2_hiera_det_model", "edgetam_vision_model"), image(1, 3, 128, 128)),
    **dict.fromkeys(("voxtral", "voxtral_encoder", "qwen2_audio_encoder"), lambda: {"input_features": torch.randn(2, 128, 512)}),
    **dict.fromkeys(("seamless_m4t", "seamless_m4t_v2", "wav2vec2-bert"), lambda: {"input_features": torch.randn(2, 50, WIDTH), "attention_mask": ones(2, 50)}),
    "emu3": lambda: {"pixel_values": torch.randn(2, 3, 8, 8), "image_sizes": torch.tensor([[8, 8], [8, 8]])}, "llava": lambda: {"image_sizes": None}, "whisper": spectrum(2, 80, 512), "chameleon": image(2, 3, 16, 16), "perception_lm": image(2, 1, 3, 64, 64), "gemma3n": lambda: {"input_features": None},
    "musicgen_melody": lambda: {"input_features": torch.randn(2, 20, 12), "decoder_input_ids": tokens(8, LENGTH)},
    "jukebox": lambda: {"raw_audio": torch.randn(1, 1024, 1)}, "musicgen": lambda: {"decoder_input_ids": tokens(8, LENGTH)},
    **dict.fromkeys(("layoutlmv3", "udop"), lambda: {"bbox": boxes()}), "clap": spectrum(2, 1, 256, 64), "csm": lambda: {"input_ids": tokens(2, LENGTH, 32)},
    "kyutai_speech_to_text": lambda: {"input_ids": tokens(2, LENGTH, 33)}, "dia": lambda: {"decoder_input_ids": tokens(2, LENGTH, 9)},
    "deepseek_vl_hybrid": lambda: {"high_res_pixel_values": torch.randn(2, 3, 64, 64)}, "depth_pro": image(1, 3, 224, 224),
    "gemma3n_audio": lambda: {"audio_mel": torch.randn(2, 64, 128), "audio_mel_mask": torch.arange(64)[None] >= torch.tensor([[64], [50]])},
    "imagegpt": lambda: {"position_ids": torch.arange(LENGTH)[None]}, "kosmos-2": lambda: {"image_embeds_position_mask": (torch.arange(LENGTH) < 4).long().repeat(2, 1)},
    **dict.fromkeys(("llava_next", "llava_next_video", "llava_onevision"), image(2, 2, 3, 56, 56)),
    "oneformer": lambda: {"task_inputs": tokens(2, 77)}, "retribert": lambda: {f"{what}_{of}": ones(2, LENGTH) if what == "attention_mask" else tokens(2, LENGTH)
                                                                               for of in ("query", "doc") for what in ("input_ids", "attention_mask")},
    "mllama": lambda: {"pixel_values": torch.randn(2, 1, 2, 3, 56, 56), "aspect_ratio_ids": torch.tensor([[1], [2]]), "aspect_ratio_mask": ones(2, 1, 2),
                       "cross_attention_mask": ones(2, LENGTH, 1, 2)},
    "seggpt": lambda: {"pixel_values": torch.randn(2, 3, 32, 32), "prompt_pixel_values": torch.randn(2, 3, 32, 32), "prompt_masks": torch.randn(2, 3, 32, 32)},
    "speecht5": lambda: {"input_values": torch.randn(2, 20, WIDTH), "decoder_input_values": torch.randn(2, 9, WIDTH)},
    "timesfm": lambda: {"past_values": torch.randn(2, 32), "past_values_padding": ones(2, 32) * 0, "freq": torch.tensor([[0], [1]])},
    "trajectory_transformer": lambda: {"trajectories": tokens(2, 50)}, "videomae": lambda: {"pixel_values": torch.randn(1, 4, 3, 64, 64)},
    "tvlt": lambda: {"pixel_values": torch.randn(2, 2, 3, 64, 64), "audio_values": torch.randn(2, 1, 64, 128)}, "tvp": lambda: {"input_ids": tokens(1, LENGTH), "attention_mask": ones(1, LENGTH), "pixel_values": torch.randn(1, 2, 3, 64, 64)},
    "vjepa2": lambda: {"pixel_values_videos": torch.randn(1, 4, 3, 32, 32)}, "xclip": image(2, 8, 3, 128, 128),
}


def size_of(config, otherwise):
    for part in (config, getattr(config, "vision_config", None), getattr(config, "backbone_config", None)):
        size = getattr(part, "image_size", None)
        if size:
            return tuple(size) if isinstance(size, (list, tuple)) else (size, size)
    return otherwise


def inputs_of(name, model, config, fixed):
    """Returns {name: input} for the parameters of forward that are not in `fixed`."""
    asked = inspect.signature(model.forward).parameters
    given = {}
    words = words_of(config)
    for key in ("input_ids", "decoder_input_ids"):
        if key in asked and (key == "input_ids" or config.is_encoder_decoder):
            given[key] = torch.randint(3, words // 2, (2, LENGTH))
    if "attention_mask" in asked and "input_ids" in given:
        given["attention_mask"] = torch.ones(2, LENGTH, dtype=torch.long)
        given["attention_mask"][1, -3:] = 0
    if "image_grid_thw" in asked:
        eyes = config.vision_config
        given["pixel_values"] = torch.randn(32, 3 * eyes.temporal_patch_size * eyes.patch_size**2)
        given["image_grid_thw"] = torch.tensor([[1, 4, 4], [1, 2, 8]])
    elif "pixel_values" in asked:
        channels = getattr(config, "num_channels", getattr(getattr(config, "vision_config", None), "num_channels", 3))
        given["pixel_values"] = torch.randn(2, channels, *size_of(config, (64, 64)))
        if "image_sizes" in asked:
            given["image_sizes"] = torch.tensor([given["pixel_values"].shape[-2:]] * 2)
    if "input_values" in asked:
        given["input_values"] = torch.randn(2, 2000)
    if "input_features" in asked:
        given["input_features"] = torch.randn(2, 80, 100)
    given |= INPUTS.get(name, dict)()
    return with_image_tokens(functools.partial(model, **fixed), config, {key: value for key, value in given.items() if value is not None and key not in fixed})


def with_image_tokens(run, config, given):
    """Puts as many image tokens in the text as an image has features. If there are too few, the model's error has the number."""
    token = next((getattr(config, key) for key in ("image_token_id", "image_token_index", "audio_token_id") if getattr(config, key, None) is not None), None)
    if token is None or "input_ids" not in given or not {"pixel_values", "input_features"} & given.keys():
        return given

    def tried(count):
        """Returns (the inputs with that many image tokens, the model's error)."""
        before = [getattr(config, key) for key in ("vision_start_token_id", "image_start_token_id") if getattr(config, key, None) is not None]
        ahead = torch.tensor(before + [token] * count).repeat(2, 1)
        longer = {**given, "input_ids": torch.cat([ahead, given["input_ids"]], 1)}
        if "attention_mask" in given:
            longer["attention_mask"] = torch.cat([torch.ones_like(ahead), given["attention_mask"]], 1)
        try:
            with torch.no_grad():
                run(**longer)
        except (ValueError, RuntimeError, IndexError) as error:
            return longer, str(error)
        return longer, None

    longer, said = tried(0)
    if said is None:
        return given
    told = re.search(r"features:? (\d+)", said)
    for count in ([int(told[1]) // 2] if told else []) + list(range(1, MAX_TOKENS)):
        longer, said = tried(count)
        if said is None:
            return longer
    return given
