"""The architectures of transformers, one of each that AutoModel knows, with small configurations."""

import inspect
import os
import re

os.environ["HF_HUB_OFFLINE"] = "1"  # weights are random
import torch  # noqa: E402
import transformers  # noqa: E402
from entry import Entry  # noqa: E402
from transformers.models.auto import configuration_auto, modeling_auto  # noqa: E402

WIDTH, INNER, HEADS, LAYERS, WORDS, LENGTH = 64, 96, 4, 2, 120, 12
# What a number of a configuration becomes where it is larger: (pattern of its name, the number).
NUMBERS = (
    (r"rotary_dim", 8), (r"projection_size", WIDTH),
    (r"(num_)?(key_value_heads|kv_heads)|multi_query_group_num", 2),
    (r"(.*_)?(num_)?(attention_)?n?_?heads?|.*attention_heads|.*num_heads|encoder_n_heads|num_attention_heads", HEADS),
    (r"(.*_)?head_dim|d_kv|attention_head_size|.*channels_per_head|v_head_dim|d_head", WIDTH // HEADS),
    (r"(.*_)?(num_)?(hidden_|encoder_|decoder_|block_)?n?_?layers?|.*_layers|num_blocks|depth|num_hidden_groups", LAYERS),
    (r"(.*_)?(intermediate_size|ffn_dim|ffn_size|d_ff|d_inner|n_inner|inner_dim|ffn_hidden_size|feed_forward_size|mlp_dim|ffn_expansion_dim)", INNER),
    (r"(.*_)?(hidden_size|hidden_dim|d_model|n_embd|embed_dim|embedding_size|embedding_dim|emb_dim|projection_dim|model_dim|hidden_channels|dim|width)", WIDTH),
    (r"(.*_)?vocab_size(_.*)?", WORDS),
    (r"(.*_)?(num_(local_|routed_)?experts|n_routed_experts|moe_num_experts|num_moe_experts)", 4),
    (r"(.*_)?(num_experts_per_tok|num_experts_per_token|moe_k|moe_topk|top_k_experts|num_selected_experts)", 2),
    (r"max_position_embeddings|n_positions|max_source_positions|max_target_positions|n_ctx", 256),
    (r"num_queries|num_query_tokens", 10),
)
NO_LAYERS = {"output_hidden_layers", "vision_feature_layer", "mlp_layers"}
IMAGE = 64
NEEDED = {"head_dim": WIDTH // HEADS, "num_key_value_heads": HEADS}
MAMBA = {"mamba_n_heads": 8, "mamba_d_head": 16, "mamba_d_ssm": 128, "mamba_n_groups": 1, "n_groups": 1, "use_mamba_kernels": False,
         "chunk_size": 8, "mamba_chunk_size": 8}
ROPE = {"rope_scaling": {"rope_type": "default", "mrope_section": [2, 3, 3]}}
LATENT = {"qk_rope_head_dim": 16, "qk_nope_head_dim": 16, "qk_head_dim": 32, "v_head_dim": 16, "kv_lora_rank": 32, "q_lora_rank": 32, "n_group": 2, "topk_group": 1, "num_key_value_heads": HEADS, "num_experts_per_tok": 2}
# What single architectures need: {name: numbers of the configuration}.
SETTINGS = {
    "bamba": {**MAMBA, "attn_layer_indices": [1], "layer_types": None}, "falcon_h1": MAMBA, "jamba": MAMBA, "zamba": MAMBA, "zamba2": MAMBA,
    "granitemoehybrid": {**MAMBA, "layer_types": ["mamba", "attention"]}, "mamba2": {"num_heads": 8, "head_dim": 16, "n_groups": 1, "chunk_size": 8},
    "deepseek_v2": LATENT, "deepseek_v3": {**LATENT, "first_k_dense_replace": 1, "rope_interleave": True}, "longcat_flash": LATENT,
    "lilt": {"hidden_size": 96}, "layoutlmv3": {"coordinate_size": 10, "shape_size": 12}, "mobilebert": {"true_hidden_size": 64, "intra_bottleneck_size": 64},
    "reformer": {"axial_pos_embds": False, "is_decoder": False, "local_attn_chunk_length": 4, "lsh_attn_chunk_length": 4},
    "rt_detr": {"decoder_in_channels": [64] * 3, "num_denoising": 0}, "rt_detr_v2": {"decoder_in_channels": [64] * 3, "num_denoising": 0},
    "d_fine": {"decoder_in_channels": [64] * 3, "num_denoising": 0}, "efficientnet": {"width_coefficient": 1.0, "depth_coefficient": 1.0, "hidden_dim": 1280},
    "gemma3n_text": {"num_kv_shared_layers": 0}, "audio-spectrogram-transformer": {"max_length": 64}, "perceiver": {"d_model": WIDTH, "num_latents": 8, "d_latents": WIDTH},
    "glm4v_text": ROPE, "glm4v_moe_text": ROPE, "qwen2_vl_text": ROPE, "qwen2_5_vl_text": ROPE, "qwen3_vl_text": ROPE, "qwen3_vl_moe_text": ROPE,
    "mobilevitv2": {"image_size": 128}, "swin": {"image_size": 224}, "donut-swin": {"image_size": 224},
}
# What they are called with beside, or in place of, what their names tell.
INPUTS = {
    "audio-spectrogram-transformer": lambda: {"input_values": torch.randn(2, 64, 128)}, "dac": lambda: {"input_values": torch.randn(2, 1, 2000)},
    "encodec": lambda: {"input_values": torch.randn(2, 1, 2000)}, "bros": lambda: {"bbox": torch.rand(2, LENGTH, 8)},
    "blip_2_qformer": lambda: {"query_embeds": torch.randn(2, 6, WIDTH), "encoder_hidden_states": torch.randn(2, 5, WIDTH)},
    "lxmert": lambda: {"visual_feats": torch.randn(2, 5, WIDTH), "visual_pos": torch.rand(2, 5, 4)}, "mctct": lambda: {"input_features": torch.randn(2, 100, 80)},
    "patchtst": lambda: {"past_values": torch.randn(2, 32, 1)}, "patchtsmixer": lambda: {"past_values": torch.randn(2, 32, 1)},
    "perceiver": lambda: {"inputs": torch.randn(2, 20, WIDTH)}, "speech_to_text": lambda: {"input_features": torch.randn(2, 100, 80)},
    "parakeet_encoder": lambda: {"input_features": torch.randn(2, 100, 80)}, "parakeet_ctc": lambda: {"input_features": torch.randn(2, 100, 80)},
    "efficientloftr": lambda: {"pixel_values": torch.rand(1, 2, 1, 64, 64)},
    "decision_transformer": lambda: {"states": torch.randn(2, 5, 17), "actions": torch.randn(2, 5, 4), "rewards": torch.randn(2, 5, 1),
                                     "returns_to_go": torch.randn(2, 5, 1), "timesteps": torch.arange(5).repeat(2, 1), "attention_mask": torch.ones(2, 5)},
    **dict.fromkeys(("siglip2_vision_model", "siglip2"), lambda: {"pixel_values": torch.randn(2, 16, 768), "pixel_attention_mask": torch.ones(2, 16, dtype=torch.long), "spatial_shapes": torch.tensor([[4, 4], [2, 8]])}),
}


def names():
    return [name for name in modeling_auto.MODEL_MAPPING_NAMES if hasattr(transformers, class_of(name))]


def kind(name):
    """A heading of the page: there is one."""
    return "architectures"


def class_of(name):
    found = modeling_auto.MODEL_MAPPING_NAMES[name]
    return found if isinstance(found, str) else found[0]


def smaller(config):
    """A configuration, and those inside of it, with small numbers."""
    stages = getattr(config, "depths", None)  # a pyramid, whose widths belong together
    if isinstance(stages, (list, tuple)):
        config.depths = [1] * len(stages)
    for key, value in list(vars(config).items()):
        if isinstance(value, transformers.PretrainedConfig):
            smaller(value)
        elif value is None and key in NEEDED:
            setattr(config, key, NEEDED[key])
        elif stages:
            continue
        elif type(value) is int and key not in NO_LAYERS:
            most = next((n for pattern, n in NUMBERS if re.fullmatch(pattern, key)), None)
            if most is not None and value > most:
                setattr(config, key, most)
    words = words_of(config)
    for i, (key, value) in enumerate(list(vars(config).items())):
        if type(value) is int and re.fullmatch(r".*_(token_id|token_index|token_ids)", key) and value >= words:
            setattr(config, key, words - 1 - i % 20)
    kinds = getattr(config, "layer_types", None)
    if kinds:
        config.layer_types = [kinds[0], next((k for k in kinds if k != kinds[0]), kinds[0])]
    if type(getattr(config, "image_size", None)) is int:
        patch = getattr(config, "patch_size", None)
        config.image_size = 4 * patch if type(patch) is int and not stages else IMAGE
    if hasattr(config, "use_pretrained_backbone"):
        config.use_pretrained_backbone = False
        if getattr(config, "use_timm_backbone", False):
            config.backbone = "resnet18"
    return config


def config_of(name):
    config = smaller(configuration_auto.CONFIG_MAPPING[name]())
    for key, value in SETTINGS.get(name, {}).items():
        setattr(config, key, value)
    if hasattr(config, "use_cache"):
        config.use_cache = False
    return config


def size_of(config, otherwise):
    for part in (config, getattr(config, "vision_config", None), getattr(config, "backbone_config", None)):
        size = getattr(part, "image_size", None)
        if size:
            return tuple(size) if isinstance(size, (list, tuple)) else (size, size)
    return otherwise


def words_of(config):
    for part in (config, *(getattr(config, f"{p}_config", None) for p in ("text", "decoder"))):
        words = getattr(part, "vocab_size", None)
        if type(words) is int:
            return words
    return WORDS


def inputs_of(model, config):
    """What forward asks for, by name."""
    asked = inspect.signature(model.forward).parameters
    given = {}
    words = words_of(config)
    for key in ("input_ids", "decoder_input_ids"):
        if key in asked and (key == "input_ids" or config.is_encoder_decoder):
            given[key] = torch.randint(3, words // 2, (2, LENGTH))
    if "attention_mask" in asked and "input_ids" in given:
        given["attention_mask"] = torch.ones(2, LENGTH, dtype=torch.long)
        given["attention_mask"][1, -3:] = 0
    if "pixel_values" in asked:
        channels = getattr(config, "num_channels", getattr(getattr(config, "vision_config", None), "num_channels", 3))
        given["pixel_values"] = torch.randn(2, channels, *size_of(config, (64, 64)))
    if "input_values" in asked:
        given["input_values"] = torch.randn(2, 2000)
    if "input_features" in asked:
        given["input_features"] = torch.randn(2, 80, 100)
    return given


def with_image_tokens(model, config, given):
    """As many of them in the text as a picture has features, which the model says where they are too few."""
    token = next((getattr(config, key) for key in ("image_token_id", "image_token_index") if getattr(config, key, None) is not None), None)
    if token is None or not {"input_ids", "pixel_values"} <= given.keys():
        return given
    try:
        model(**given)
    except ValueError as error:
        said = re.search(r"features (\d+)", str(error))
        if said:
            n = int(said[1]) // 2
            n = n if n < 200 else n // WIDTH
            given["input_ids"] = torch.cat([torch.full((2, n), token), given["input_ids"]], 1)
            if "attention_mask" in given:
                given["attention_mask"] = torch.cat([torch.ones(2, n, dtype=torch.long), given["attention_mask"]], 1)
    return given


def make(name):
    config = config_of(name)
    torch.manual_seed(1)
    for as_dict in (False, True):  # a few do not work without names
        config.return_dict = as_dict
        model = getattr(transformers, class_of(name))(config).eval()
        given = {**inputs_of(model, config), **INPUTS.get(name, dict)()}
        try:
            with torch.no_grad():
                made = Entry(model, with_image_tokens(model, config, given))
                made.answer()
            return made
        except AttributeError:
            if as_dict:
                raise
