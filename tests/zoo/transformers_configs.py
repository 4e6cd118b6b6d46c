"""Small configurations of the models in transformers."""

import functools
import re

import transformers
from transformers.models.auto import configuration_auto

WIDTH, INNER, HEADS, LAYERS, WORDS, LENGTH = 64, 96, 4, 2, 120, 12
# The greatest value of a number in a configuration: (pattern of its name, the value).
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
NO_LAYERS = {"output_hidden_layers", "vision_feature_layer", "mlp_layers", "num_feat_extract_layers"}
IMAGE = 64
NEEDED = {"head_dim": WIDTH // HEADS, "num_key_value_heads": HEADS}
MAMBA = {"mamba_n_heads": 8, "mamba_d_head": 16, "mamba_d_ssm": 128, "mamba_n_groups": 1, "n_groups": 1, "use_mamba_kernels": False,
         "chunk_size": 8, "mamba_chunk_size": 8}
HYBRID = {**MAMBA, "attention_hidden_size": 2 * WIDTH, "attention_head_dim": 32, "mamba_headdim": 16, "n_mamba_heads": 8, "num_hidden_layers": 3, "layers_block_type": ["mamba", "hybrid", "mamba"]}
ROPE = {"rope_scaling": {"rope_type": "default", "mrope_section": [2, 3, 3]}}
LATENT = {"qk_rope_head_dim": 16, "qk_nope_head_dim": 16, "qk_head_dim": 32, "v_head_dim": 16, "kv_lora_rank": 32, "q_lora_rank": 32, "n_group": 2, "topk_group": 1, "num_key_value_heads": HEADS, "num_experts_per_tok": 2}
SERIES = {"prediction_length": 6, "context_length": 14, "lags_sequence": [1, 2], "num_time_features": 1, "feature_size": 5}
QUESTIONS = {"image_token_index": 100, "image_token_id": 100}
SAM = {"vision_config.image_size": 128, "vision_config.num_pos_feats": WIDTH // 2, "vision_config.output_channels": WIDTH,
       "prompt_encoder_config.image_size": 128, "prompt_encoder_config.image_embedding_size": 8}
HIERA = {"hidden_size": 96, "image_size": [128, 128], "blocks_per_stage": [1, 1, 2, 1], "global_attention_blocks": [3], "window_positional_embedding_background_size": [4, 4]}
SAM2 = {"prompt_encoder_config.image_size": 128}
FPN = {"backbone_feature_sizes": [[32, 32], [16, 16], [8, 8]]}
# Values for single architectures and nested configurations: {model_type: values}. A name with dots is in a nested one.
SETTINGS = {
    "bamba": {**MAMBA, "attn_layer_indices": [1], "layer_types": None}, "falcon_h1": MAMBA, "jamba": MAMBA, "zamba": {**HYBRID, "n_mamba_heads": 2},
    "zamba2": {**HYBRID, "hybrid_layer_ids": [1]},
    "granitemoehybrid": {**MAMBA, "layer_types": ["mamba", "attention"]}, "mamba2": {"num_heads": 8, "head_dim": 16, "n_groups": 1, "chunk_size": 8},
    "deepseek_v2": LATENT, "deepseek_v3": {**LATENT, "first_k_dense_replace": 1, "rope_interleave": True}, "longcat_flash": LATENT,
    "lilt": {"hidden_size": 96}, "layoutlmv3": {"coordinate_size": 10, "shape_size": 12, "input_size": 64}, "mobilebert": {"true_hidden_size": 64, "intra_bottleneck_size": 64},
    "reformer": {"axial_pos_embds": False, "is_decoder": False, "local_attn_chunk_length": 4, "lsh_attn_chunk_length": 4},
    "rt_detr": {"decoder_in_channels": [64] * 3, "num_denoising": 0}, "rt_detr_v2": {"decoder_in_channels": [64] * 3, "num_denoising": 0},
    "d_fine": {"decoder_in_channels": [64] * 3, "num_denoising": 0}, "efficientnet": {"width_coefficient": 1.0, "depth_coefficient": 1.0, "hidden_dim": 1280},
    "gemma3n_text": {"num_kv_shared_layers": 0}, "audio-spectrogram-transformer": {"max_length": 64}, "perceiver": {"d_model": WIDTH, "num_latents": 8, "d_latents": WIDTH},
    "glm4v_text": ROPE, "qwen2_vl_text": ROPE, "qwen2_5_vl_text": ROPE, "qwen3_vl_text": ROPE, "qwen3_vl_moe_text": ROPE,
    "Glm4vMoe_text": {"rope_scaling": {"rope_type": "default", "mrope_section": [1, 1, 2]}},
    "mobilevitv2": {"image_size": 128}, "swin": {"image_size": 224}, "donut-swin": {"image_size": 224},
    "align": {"projection_dim": 640}, "aria": {"projector_patch_to_query_dict": {16: 4}, "max_value_projector_patch_to_query_dict": 4},
    "autoformer": SERIES, "informer": SERIES, "time_series_transformer": SERIES, "blip-2": QUESTIONS, "instructblip": QUESTIONS,
    "instructblipvideo": {**QUESTIONS, "video_token_index": 100},
    "blt": {"encoder_hash_byte_group_size": [3, 4], "encoder_hash_byte_group_vocab": 90, "encoder_config.hidden_size_global": 128, "patching_device": "cpu",
            "decoder_config.hidden_size_global": 128, "global_config.hidden_size": 128, "global_config.head_dim": 32},
    "bros": {"dim_bbox_sinusoid_emb_2d": 16, "dim_bbox_sinusoid_emb_1d": 2, "dim_bbox_projection": 16},
    "chameleon_vqgan": {"num_embeddings": 16, "latent_channels": 32, "base_channels": 32, "channel_multiplier": [1, 1, 2], "num_res_blocks": 1, "resolution": 16},
    "chameleon": {"vocabulary_map": {"<image>": 100, **{f"IMGIMG{'AB'[i // 10]}{chr(ord('A') + i % 10)}Z": 70 + i for i in range(16)}}, "image_token_id": 100},
    "emu3_vqgan": {"codebook_size": 16, "base_channels": 32, "channel_multiplier": [1, 2], "num_res_blocks": 1, "attn_resolutions": [1]},
    "emu3": {"vocabulary_map": {"<image>": 100, "<|extra_200|>": 99, **{f"<|visual token {i:06d}|>": 70 + i for i in range(16)}}, "image_token_id": 100},
    "clvp_encoder": {"num_attention_heads": 2}, "mimi": {"upsample_groups": WIDTH, "vector_quantization_hidden_dimension": WIDTH}, "depth_pro": {
        "patch_size": 56, "scaled_images_feature_dims": [WIDTH] * 3, "intermediate_hook_ids": [1, 0], "intermediate_feature_dims": [WIDTH] * 2},
    "deta": {"two_stage": False, "with_box_refine": False}, "dots1": {"moe_intermediate_size": INNER, "n_routed_experts": 4, "n_shared_experts": 1, "n_group": 1, "topk_group": 1, "num_experts_per_tok": 2, "first_k_dense_replace": 1},
    "efficientformer": {"image_size": 224}, "efficientloftr": {"hidden_size": 256, "num_attention_heads": 8, "head_dim": 32, "num_key_value_heads": 8},
    "esm": {"vocab_size": WORDS, "pad_token_id": 1, "mask_token_id": 119}, "hifigan": {"model_in_dim": 80, "upsample_initial_channel": 32},
    "gemma3": {"mm_tokens_per_image": 4}, "gemma3n_vision": {"architecture": "resnet18", "hidden_size": 512}, "gemma3n": {"vision_soft_tokens_per_image": 4},
    "kosmos-2": {"latent_query_num": 4}, "llama4": {"vision_config.intermediate_size": 4 * WIDTH}, "llava_next": {"image_grid_pinpoints": [[56, 56]]},
    "llava_next_video": {"image_grid_pinpoints": [[56, 56]], "video_token_index": 118}, "llava_onevision": {"image_grid_pinpoints": [[56, 56]]},
    "mllama_text_model": {"rope_scaling": {"rope_type": "default"}, "cross_attention_layers": [1]},
    "mllama_vision_model": {"intermediate_layers_indices": [0], "vision_output_dim": 2 * WIDTH, "max_num_tiles": 2, "supported_aspect_ratios": [[1, 1], [1, 2], [2, 1]], "num_attention_heads": 4},
    **dict.fromkeys(("qwen3_vl", "qwen3_vl_moe"), {"deepstack_visual_indexes": [0], "num_position_embeddings": 16}),
    "internvl_vision": {"image_size": [56, 56]}, "florence_vision": {"projection_dim": WIDTH}, "clap_audio_model": {"projection_dim": WIDTH},
    "clvp": {"decoder_config.decoder_fixing_codes": [83, 45, 45, 110]}, "sam_vision_model": {"global_attn_indexes": [1], "window_size": 4},
    "lightglue": {"intermediate_size": 2 * WIDTH}, "voxtral": {"audio_token_id": 100}, "omdet-turbo": {"apply_layernorm_after_vision_backbone": False, "vision_features_channels": [WIDTH] * 3, "class_embed_dim": 2 * WIDTH, "text_projection_in_dim": 2 * WIDTH,
                    "text_projection_out_dim": 2 * WIDTH, "text_config.hidden_size": 2 * WIDTH}, "vit-hybrid": {"image_size": IMAGE, "backbone_featmap_shape": [1, 1024, 4, 4]},
    "superpoint": {"keypoint_decoder_dim": 65}, "vit": {"pooler_output_size": WIDTH}, "voxtral_encoder": {"intermediate_size": 4 * WIDTH},
    "retribert": {"position_embedding_type": "absolute"}, "sam": SAM, "sam_hq": SAM, "sam2_hiera_det_model": HIERA, "sam2_vision_model": FPN,
    "sam2": SAM2, "edgetam": SAM2, "edgetam_vision_model": FPN, "seamless_m4t": {"feature_projection_input_dim": WIDTH}, "seggpt": {"image_size": [64, 32], "pretrain_image_size": 32, "intermediate_hidden_state_indices": [0, 1], "merge_index": 0},
    "timesfm": {"patch_length": 8, "context_length": 32, "horizon_length": 8}, "transfo-xl": {"cutoffs": [40, 80], "div_val": 2, "d_embed": WIDTH},
    "tvlt": {"spectrogram_length": 64, "num_frames": 2}, "tvp": {"type_vocab_size": 2, "max_img_size": 64, "visual_prompt_size": 8, "num_frames": 2},
    "vipllava": {"vision_feature_layers": [-2, -1]}, "xmod": {"default_language": "en_XX"}, "timesformer": {"num_frames": 2}, "videomae": {"num_frames": 4},
    "vivit": {"num_frames": 4, "tubelet_size": [2, 16, 16]}, "vjepa2": {"crop_size": 32, "frames_per_clip": 4}, "oneformer": {"backbone_config.image_size": 64, "is_training": False},
    "xcodec": {"acoustic_model_config.hidden_size": 256, "codebook_dim": 256 + WIDTH},
}


def picture(name, **options):
    """Configures a model of timm as a part of another model."""
    return transformers.TimmWrapperConfig(architecture=name, model_args=options)


def edgetam_vision():
    levels = picture("repvit_m1", in_chans=3, features_only=True, out_indices=[0, 1, 2, 3])
    return transformers.EdgeTamVisionConfig(backbone_config=levels)


def perception_lm():
    eyes = picture("vit_pe_core_tiny_patch16_384", embed_dim=WIDTH, depth=2, num_heads=4, img_size=(IMAGE, IMAGE), global_pool="", use_post_transformer_norm=False)
    return transformers.PerceptionLMConfig(vision_config=eyes, text_config=transformers.LlamaConfig())


def music(config, text, decoder):
    return lambda: config.from_sub_models_config(text(), transformers.EncodecConfig(), decoder())


# Configurations that cannot be made without their nested configurations.
MADE = {
    "edgetam": lambda: transformers.EdgeTamConfig(vision_config=edgetam_vision()), "edgetam_vision_model": edgetam_vision, "perception_lm": perception_lm,
    "omdet-turbo": lambda: transformers.OmDetTurboConfig(use_timm_backbone=False, backbone=None), "phi4_multimodal": lambda: transformers.Phi4MultimodalConfig(vision_config={}, audio_config={}),
    "musicgen": music(transformers.MusicgenConfig, transformers.T5Config, transformers.MusicgenDecoderConfig),
    "musicgen_melody": music(transformers.MusicgenMelodyConfig, transformers.T5Config, transformers.MusicgenMelodyDecoderConfig),
    "vision-text-dual-encoder": lambda: transformers.VisionTextDualEncoderConfig.from_vision_text_configs(transformers.ViTConfig(), transformers.BertConfig()),
}


def words_of(config):
    for part in (config, *(getattr(config, f"{p}_config", None) for p in ("text", "decoder"))):
        words = getattr(part, "vocab_size", None)
        if type(words) is int:
            return words
    return WORDS


def smaller(config):
    """Returns a configuration with small numbers, including the nested ones."""
    stages = getattr(config, "depths", None)  # a pyramid, whose widths depend on each other
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
        of_text = not re.match("image|video|audio", key)  # other special tokens do not occur in text
        if type(value) is int and re.fullmatch(r".*_(token_id|token_index|token_ids)", key) and (value >= words or value < words // 2 and not of_text):
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
    if hasattr(config, "use_cache"):
        config.use_cache = False
    for path, value in SETTINGS.get(config.model_type, {}).items():
        *inside, key = path.split(".")
        setattr(functools.reduce(getattr, inside, config), key, value)
    return config


def config_of(name):
    return smaller(MADE[name]() if name in MADE else configuration_auto.CONFIG_MAPPING[name]())
