"""Topics: the complaints that people have about training, and the categories and symptoms of findings that answer them."""

from __future__ import annotations

import re
from typing import NamedTuple


class Topic(NamedTuple):
    """`pattern` recognizes the complaint in a question; the first categories answer it best."""

    pattern: str
    categories: str
    symptoms: str = ""
    # A complaint about training as a whole ("it does not learn"): every finding may be its cause.
    general: bool = False
    # What it complains of shows in the run: if no finding has it, there is no answer.
    exact: bool = False

    def rank(self, category: str, symptom: str) -> float:
        """0 if a finding has nothing to do with the complaint; more for what causes it directly."""
        known = self.categories.split()
        if category in known:
            return 4 - 2 * known.index(category) / len(known)
        return 2 if symptom in self.symptoms.split() else 0


_NOT = r"(\bnot?\b|n't|\bnever\b|\bnothing\b|\bwithout\b|\bstop\w*|\bhardly\b|\bbarely\b|\bfail\w*)"
_UPDATES = ("step-missing not-in-optimizer layers-in-list parameter-in-forward learning-rate-zero "
            "grad-cleared detach grad-mode-off value-copied-out non-differentiable-op leaf-replaced parameter-rewrapped "
            "unused-in-loss hook-modified zero-factor zero-local-derivative update-too-small clip-too-tight "
            "vanishing-gradient weights-reset frozen scheduler-per-batch loss-detached loss-unused loss-scaled-twice "
            "init-symmetric no-backward")
_LABELS = "labels-shuffled class-never-seen class-ignored target-constant label-dtype target-equals-input"

TOPICS = (
    # Numbers.
    Topic(r"\bnans?\b|not a number|\binf(s|inite|inity)?\b|non-?finite",
          "nan-forward nan-derivative diverged exploding-gradient masked-all scaler-misuse grad-accumulated", "nan", exact=True),
    Topic(r"diverg|blow(s|n|ing)? up|goes up|going up|"
          r"(loss|error).{0,20}(increas|grow|ris(es|ing)|explod|jump|wors)|unstable|oscillat",
          "diverged exploding-gradient nan-forward nan-derivative grad-accumulated accumulation-undivided scaler-misuse "
          "wrong-loss-input sigmoid-before-logits clip-misplaced", "nan"),
    Topic(r"explod|huge|too (big|large)|enormous|gradients? .{0,20}(big|large|grow)",
          "exploding-gradient diverged grad-accumulated accumulation-undivided scaler-misuse nan-derivative nan-forward "
          "clip-misplaced", "nan", exact=True),
    Topic(r"vanish", "vanishing-gradient saturated zero-local-derivative zero-factor", "zero partly-zero", exact=True),
    Topic(r"vanish|tiny|(too|so|very|extremely|almost) (small|low)|close to (0|zero)|\bzeros?\b|"
          r"\b0(\.0)?\b|\bdead\b|\bdying\b|saturat",
          "vanishing-gradient zero-local-derivative zero-factor saturated hook-modified dropout-all masked-all clip-too-tight "
          "update-too-small loss-scaled-twice learning-rate-zero init-symmetric second-derivative-zero input-degenerate "
          "term-without-influence", "zero partly-zero"),
    # Gradients that are missing, or not what they should be.
    Topic(r"\bnone\b|\bno (\w+ )?(grad|gradient)s?\b|missing|(not|n't|never|without).{0,20}gradients?\b|empty",
          "detach grad-mode-off value-copied-out non-differentiable-op unused-in-loss leaf-replaced parameter-rewrapped "
          "loss-detached loss-unused grad-cleared layers-in-list non-leaf-no-retain never-required-grad frozen no-backward "
          "zero-factor", "none not-tracked", exact=True),
    Topic(r"accumulat|grow|doubl|twice|increas|larger|stale", "grad-accumulated accumulation-undivided stale-grad-after-freeze"),
    Topic(r"error\b|exception|crash|raise|assert|fails?\b|failing|complain", "", "error", exact=True),
    Topic(r"second time|freed|retain_graph", "graph-freed retain-graph-needless", exact=True),
    Topic(r"in-?\s?place|modified|overwrit", "inplace-saved-tensor leaf-inplace weights-reset"),
    Topic(r"\bleaf", "leaf-inplace leaf-replaced non-leaf-no-retain"),
    Topic(r"scalar|implicitly", "non-scalar-backward"),
    Topic(r"shape|mismatch|\bsize|broadcast", "broadcast-loss gradient-shape-mismatch"),
    Topic(r"element 0|grad_fn", "grad-mode-off detach non-differentiable-op never-required-grad value-copied-out"),
    Topic(r"create_graph|second deriv|grad_output|hessian|curvature|laplac", "no-create-graph second-derivative-zero"),
    Topic(r"frozen|freez", "frozen frozen-decayed stale-grad-after-freeze grad-mode-off detach weights-reset"),
    Topic(r"zero_grad", "grad-accumulated grad-cleared"),
    Topic(r"\bhook", "hook-modified"),
    # Weights.
    Topic(rf"{_NOT}.{{0,25}}(chang|updat|mov(e|ing)|adapt|train|learn|optimi[sz]ed)|unchanged|untrained|"
          r"(stay|remain|keep|are|is)\w* .{0,12}(same|constant|fixed|identical|initial)|\bstuck\b|same values?|"
          r"(learn|train|updat)\w* (stop|stall|end)", _UPDATES, "no-update"),
    Topic(r"(reset|jump|go|set|come)\w* back|\breset|restor|forget", "weights-reset optimizer-recreated optimizer-state-lost"),
    Topic(r"optimi[sz]er|\badamw?\b|\bsgd\b|\brmsprop|momentum|\.step\b|\bsteps?\b",
          "optimizer-recreated optimizer-state-lost step-missing not-in-optimizer learning-rate-zero grad-cleared "
          "update-too-small layers-in-list weights-reset frozen-decayed grad-accumulated scaler-misuse clip-misplaced "
          "clip-too-tight parameter-in-forward leaf-replaced parameter-rewrapped scheduler-before-optimizer scheduler-per-batch "
          "schedule-wrong",
          "no-update"),
    Topic(r"schedul|learning.?rate|\blrs?\b|warm.?up|anneal",
          "learning-rate-zero scheduler-per-batch schedule-wrong scheduler-before-optimizer update-too-small diverged"),
    Topic(r"weight.?decay|decay", "frozen-decayed learning-rate-zero scheduler-per-batch"),
    Topic(r"\bclip", "clip-too-tight clip-misplaced scaler-misuse"),
    Topic(r"scaler|\bamp\b|mixed.?precision|\bhalf\b|fp16|bf16|float16|autocast", "scaler-misuse update-too-small nan-forward"),
    # The loss.
    Topic(r"(loss|error|objective).{0,40}(constant|stuck|flat|plateau|same|hang|stagnat)|"
          rf"(loss|error|objective).{{0,30}}{_NOT}.{{0,20}}(chang|go|mov|decreas|drop|fall|improv|reduc|down)|"
          rf"{_NOT}.{{0,20}}(decreas|go(es|ing)? down|drop|fall|reduc).{{0,20}}(loss|error)?",
          "loss-constant loss-detached step-missing learning-rate-zero grad-cleared not-in-optimizer "
          "layers-in-list update-too-small clip-too-tight output-constant zero-local-derivative zero-factor saturated "
          "dropout-all", "no-update", general=True),
    Topic(r"\bterm\b|penalt|regulari[sz]|\bkl\b|auxil|\baux\b|no (effect|influence)|\bbeta\b|"
          r"(second|other|one|extra) loss|two losses",
          "term-without-influence loss-unused loss-detached second-derivative-zero zero-factor unused-in-loss schedule-wrong "
          "clip-misplaced"),
    Topic(r"too good|perfect|suspicious|leak(s|ing|age)?\b.{0,20}(label|target|data)|100 ?%|loss.{0,12}\b(0|zero)\b",
          "target-equals-input target-constant loss-constant class-ignored data-constant label-dtype broadcast-loss"),
    # Memory.
    Topic(r"memory|\boom\b|\bram\b|\bleak|slower and slower|(get|becom)\w* slower",
          "graph-kept missing-detach retain-graph-needless", exact=True),
    # Validation, and what the model predicts.
    Topic(r"\bvalid|\bval\b|\btest(s|ing)?\b|\beval|generali[sz]|overfit|inference",
          "train-in-validation eval-not-undone batchnorm-single target-equals-input data-constant "
          f"dropout-all {_LABELS} frozen-decayed"),
    Topic(r"(same|constant|identical|one) (output|predict|answer|class|value|logit|result)|"
          r"always (predict|output|give|say|choos|the)|collaps|only (one|predict)|"
          r"(outputs?|predict\w*) .{0,25}(same|constant|identical|equal)",
          f"output-constant dropout-all masked-all input-degenerate init-symmetric batchnorm-single saturated {_LABELS} "
          "zero-local-derivative zero-factor loss-constant softmax-before-loss"),
    Topic(r"accura|\bchance\b|random|guess|f1\b|\bauc\b|predict",
          "labels-shuffled class-never-seen class-ignored target-constant input-degenerate output-constant softmax-before-loss",
          general=True),
    Topic(r"\blabels?\b|\btargets?\b|\bclass(es)?\b", _LABELS + " broadcast-loss"),
    Topic(r"\bdata\b|loader|\bbatch(es)?\b|\binputs?\b|\bsampl|shuffl|feature",
          f"data-constant input-degenerate batchnorm-single labels-shuffled target-equals-input {_LABELS}"),
    Topic(r"dropout|batch.?norm|\bmode\b|\.eval\b|\.train\b", "dropout-all eval-not-undone train-in-validation batchnorm-single"),
    Topic(r"softmax|sigmoid|logits?\b|cross.?entropy|\bbce|nll|logarithm",
          "softmax-before-loss sigmoid-before-logits log-softmax-twice wrong-loss-input saturated"),
    Topic(r"\bmask|padding|attention", "masked-all class-ignored saturated"),
    Topic(r"\bti(e|ed|es|eing)\b|\bshar(e|ed|ing)\b|untie", "weights-untied module-repeated"),
    Topic(r"initiali[sz]|\binit\b|symmetr", "init-symmetric vanishing-gradient exploding-gradient saturated"),
    # Training as a whole.
    Topic(rf"{_NOT}.{{0,30}}(learn|train|converg|improv|work|fit|better|progress)|underfit|"
          r"(learn|train|converg|improv)\w* .{0,12}(slow|bad|poor|noth)|"
          r"slow.{0,12}(learn|train|converg)|\bwrong\b|\bproblem|\bbugs?\b|going on|"
          r"\b(is|are|does|do) .{0,40}(ok|okay|right|correct\w*|work(s|ing)?|fine|train\w*|learn\w*)\b",
          "", "no-update", general=True),
)
# A question without any of these words, topic or name of the program is not about training.
SUBJECT = (r"grad|backward|learn|train|loss|why|wrong|differentia|autograd|derivativ|optimi|weight|param|layer|"
           r"model|network|progress|epoch|batch|accura|predict|output|result|converg|improv|perform")


def topics_of(words: str) -> list[Topic]:
    return [topic for topic in TOPICS if re.search(topic.pattern, words)]
