"""Small models with random weights in the place of those that the recipes of the guide download."""

import gguf_models
import text_models
import transformers
from transformers import PreTrainedModel

_VISION = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 32, "patch_size": 8}
_TEXT = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 99,
         "eos_token_id": 98}


def _clip():
    return transformers.CLIPModel(transformers.CLIPConfig(text_config=_TEXT, vision_config=_VISION, projection_dim=16))


def _sam():
    vision = transformers.SamVisionConfig(**{**_VISION, "image_size": 64}, output_channels=32, global_attn_indexes=[1], window_size=2,
                                          num_pos_feats=16)
    prompt = transformers.SamPromptEncoderConfig(hidden_size=32, image_size=64, patch_size=8, mask_input_channels=4)
    mask = transformers.SamMaskDecoderConfig(hidden_size=32, mlp_dim=64, num_hidden_layers=2, num_attention_heads=4,
                                             iou_head_hidden_dim=32)
    return transformers.SamModel(transformers.SamConfig(vision, prompt, mask))


def _detr():
    return transformers.DetrForObjectDetection(transformers.DetrConfig(
        use_timm_backbone=False, backbone=None, use_pretrained_backbone=False,
        backbone_config=transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], out_features=["stage2"]),
        d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64,
        decoder_ffn_dim=64, num_queries=7))


MODELS = {"WhisperForConditionalGeneration": text_models.whisper, "CLIPModel": _clip, "SamModel": _sam, "DetrForObjectDetection": _detr}


def _processor(_):
    return text_models.whisper_processor()


def _gguf(monkeypatch):
    gguf_models.write("model.gguf", gguf_models.decoder("llama"), "llama")


def _sentences(monkeypatch):
    import sentence_transformers as library
    text_models.bert("Model").save_pretrained("base")
    text_models.tokenizer().save_pretrained("base")
    base = library.models.Transformer("base")
    parts = [base, library.models.Pooling(base.get_word_embedding_dimension()), library.models.Normalize()]
    made = library.SentenceTransformer(modules=parts, device="cpu")
    monkeypatch.setattr(library, "SentenceTransformer", lambda name: made)


def _yolo(monkeypatch):
    import ultralytics as library
    whole = library.YOLO
    monkeypatch.setattr(library, "YOLO", lambda name: whole(name.replace(".pt", ".yaml")))


def _diffusers(monkeypatch):
    import diffusers as library
    unet = library.UNet2DConditionModel(
        sample_size=32, block_out_channels=(32, 64), layers_per_block=1, cross_attention_dim=32, attention_head_dim=8,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"))
    taesd = library.AutoencoderTiny(encoder_block_out_channels=(16, 16), decoder_block_out_channels=(16, 16),
                                    num_encoder_blocks=(1, 1), num_decoder_blocks=(1, 1))
    for made in (unet, taesd):
        monkeypatch.setattr(type(made), "from_pretrained", lambda *_, made=made, **__: made)


PREPARED = {"GGUF": _gguf, "sentence-transformers": _sentences, "YOLO": _yolo, "diffusers": _diffusers}


def prepare(title, monkeypatch):
    """Replaces what a recipe downloads."""
    whole = PreTrainedModel.from_pretrained.__func__

    def from_pretrained(cls, *args, **options):
        return MODELS[cls.__name__]() if cls.__name__ in MODELS else whole(cls, *args, **options)

    monkeypatch.setattr(PreTrainedModel, "from_pretrained", classmethod(from_pretrained))
    monkeypatch.setattr(transformers.AutoProcessor, "from_pretrained", _processor)
    if title in PREPARED:
        PREPARED[title](monkeypatch)
