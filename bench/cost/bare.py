"""What a person would write without an Experiment OS: one TRL script that trains recipes in turn.

    python bench/cost/bare.py LANE.json

LANE.json: {"base": folder, "experiments": [{"data": file, "spec": {...}, "seed": n}, ...],
"items": file, "threads": n}. Each recipe is trained from the base and greedily evaluated on the
items, in one process that imports the stack once. The seconds after the imports go to a file.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer

BATCH = 128


def main(lane_file: str) -> None:
    """Train and evaluate every experiment of the lane."""
    lane = json.loads(Path(lane_file).read_text(encoding="utf-8"))
    torch.set_num_threads(lane["threads"])
    prompts = json.loads(Path(lane["items"]).read_text(encoding="utf-8"))
    out = Path(lane_file).with_suffix("")
    begun = time.monotonic()
    for number, experiment in enumerate(lane["experiments"]):
        model = train(lane["base"], experiment, out / str(number))
        evaluate(model, AutoTokenizer.from_pretrained(lane["base"]), prompts)
    (out / "seconds").write_text(str(time.monotonic() - begun), encoding="utf-8")


def train(base: str, experiment: dict[str, Any], out: Path) -> torch.nn.Module:
    """One supervised fine-tuning, saved like any other."""
    spec = experiment["spec"]
    rows = [json.loads(line) for line in Path(experiment["data"]).read_text("utf-8").splitlines()]
    steps = -(-len(rows) // spec["batch_size"]) * spec["epochs"]
    trainer = SFTTrainer(
        model=AutoModelForCausalLM.from_pretrained(base),
        processing_class=AutoTokenizer.from_pretrained(base),
        train_dataset=Dataset.from_list(rows),
        peft_config=LoraConfig() if spec["method"] == "lora" else None,
        args=SFTConfig(
            output_dir=str(out),
            max_steps=spec["steps"] or int(steps),
            per_device_train_batch_size=spec["batch_size"],
            learning_rate=spec["learning_rate"],
            warmup_steps=spec["warmup"],
            lr_scheduler_type=spec["schedule"],
            max_length=spec["max_length"],
            completion_only_loss=True,
            seed=experiment["seed"],
            use_cpu=True,
            bf16=False,
            fp16=False,
            gradient_checkpointing=False,
            dataloader_pin_memory=False,
            save_strategy="no",
            logging_steps=1,
            report_to=[],
            disable_tqdm=True,
        ),
    )
    trainer.train()
    trainer.save_model(str(out))
    model: torch.nn.Module = trainer.model
    return model


def evaluate(model: Any, tokenizer: Any, prompts: list[str]) -> None:
    """Greedy answers to all prompts."""
    tokenizer.padding_side = "left"
    model.eval()
    for start in range(0, len(prompts), BATCH):
        batch = tokenizer(prompts[start : start + BATCH], return_tensors="pt", padding=True)
        batch.pop("token_type_ids", None)
        with torch.inference_mode():
            model.generate(**batch, do_sample=False, max_new_tokens=96)


if __name__ == "__main__":
    main(sys.argv[1])
