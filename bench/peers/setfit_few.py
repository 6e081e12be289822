"""SetFit as its library does it: an order as JSON on standard input, the accuracy on the last line.

Runs in an environment of its own (`pip install setfit`), which has none of regard.
"""

import json
import sys


def main() -> None:
    from datasets import Dataset
    from setfit import SetFitModel, Trainer, TrainingArguments

    order = json.load(sys.stdin)
    model = SetFitModel.from_pretrained(order["model"])
    arguments = TrainingArguments(
        batch_size=16,
        num_epochs=1,
        num_iterations=order["iterations"],
        seed=order["seed"],
        report_to="none",
        save_strategy="no",
    )
    examples = Dataset.from_dict({"text": order["texts"], "label": order["labels"]})
    Trainer(model=model, args=arguments, train_dataset=examples).train()
    answers = [str(answer) for answer in model.predict(order["asked"])]
    right = sum(map(str.__eq__, answers, order["truth"]))
    print(json.dumps({"accuracy": right / len(answers)}))


if __name__ == "__main__":
    main()
