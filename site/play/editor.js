// The editor: Python, answers under their lines, marks of causes and reads, and the values of the step that is shown.
import { indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { HighlightStyle, syntaxHighlighting, indentUnit } from "@codemirror/language";
import { EditorState, Prec, StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, WidgetType, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { basicSetup } from "codemirror";
import { answerBox, changes } from "./answers.js";
import { element } from "./prose.js";

const COLOURS = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword], color: "var(--keyword)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--string)" },
  { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--number)" },
  { tag: [tags.definition(tags.variableName), tags.definition(tags.className)], color: "var(--accent)" },
]);

class Box extends WidgetType {
  constructor(answer, number, actions) {
    super();
    Object.assign(this, { answer, number, actions });
  }
  eq(other) {
    return other.answer === this.answer;
  }
  toDOM() {
    return element("div", { class: "under-line" }, answerBox(this.answer, this.number, this.actions));
  }
  ignoreEvent() {
    return true;
  }
}

class Value extends WidgetType {
  constructor(text) {
    super();
    this.text = text;
  }
  eq(other) {
    return other.text === this.text;
  }
  toDOM() {
    return element("span", { class: "value-of-step", "aria-hidden": "true" }, this.text);
  }
}

const showAnswers = StateEffect.define(),
  showStep = StateEffect.define(),
  lightLine = StateEffect.define();

function line(document, number) {
  return number >= 1 && number <= document.lines ? document.line(number) : null;
}

function decorations({ answers, actions }, document) {
  const found = [],
    classes = new Map();
  const mark = (number, name) => {
    if (line(document, number)) classes.set(number, `${classes.get(number) ?? ""} ${name}`);
  };
  answers.forEach((answer, i) => {
    mark(answer.line, "read-line");
    for (const cause of answer.causes) mark(cause.line, "cause-line");
    const at = line(document, Math.max(1, answer.line));
    if (at) found.push(Decoration.widget({ widget: new Box(answer, i + 1, actions), block: true, side: 1 }).range(at.to));
  });
  for (const [number, name] of classes) found.push(Decoration.line({ class: name.trim() }).range(document.line(number).from));
  return Decoration.set(found, true);
}

// A field of decorations that one effect sets; a change of the text moves them.
function field(effect, made) {
  return StateField.define({
    create: () => Decoration.none,
    update(value, transaction) {
      for (const each of transaction.effects) if (each.is(effect)) return made(each.value, transaction.state.doc);
      return value.map(transaction.changes);
    },
    provide: (self) => EditorView.decorations.from(self),
  });
}

const answersField = field(showAnswers, decorations);
const stepField = field(showStep, (step, document) => {
  const at = step && line(document, step.line);
  return !at
    ? Decoration.none
    : Decoration.set(
        [
          Decoration.line({ class: `step-line ${step.phase}` }).range(at.from),
          ...(step.text ? [Decoration.widget({ widget: new Value(step.text), side: 1 }).range(at.to)] : []),
        ],
        true,
      );
});
const litField = field(lightLine, (number, document) => {
  const at = line(document, number);
  return at ? Decoration.set([Decoration.line({ class: "lit-line" }).range(at.from)]) : Decoration.none;
});

export class Editor {
  // `listeners`: run(), stop(), typed(), hover(line).
  constructor(parent, listeners) {
    const keys = [
      {
        key: "Mod-Enter",
        run: () => {
          listeners.run();
          return true;
        },
      },
      {
        key: "Ctrl-Shift-c",
        run: () => {
          listeners.stop();
          return true;
        },
      },
    ];
    this.view = new EditorView({
      parent,
      state: EditorState.create({
        extensions: [
          Prec.highest(keymap.of(keys)),
          basicSetup,
          keymap.of([indentWithTab]),
          indentUnit.of("    "),
          python(),
          syntaxHighlighting(COLOURS),
          EditorView.lineWrapping,
          answersField,
          stepField,
          litField,
          EditorView.contentAttributes.of({
            "aria-label": "Python program. Control and Enter runs it; Escape, then Tab, leaves the editor.",
          }),
          EditorView.updateListener.of((update) => {
            const isTyped = (each) => ["input", "delete", "undo", "redo"].some((kind) => each.isUserEvent(kind));
            if (update.docChanged && update.transactions.some(isTyped)) listeners.typed();
          }),
          EditorView.domEventHandlers({
            mousemove: (event, view) => {
              const at = view.posAtCoords({ x: event.clientX, y: event.clientY }, false);
              listeners.hover(view.state.doc.lineAt(at).number);
            },
            mouseleave: () => listeners.hover(0),
          }),
        ],
      }),
    });
  }

  get text() {
    return this.view.state.doc.toString();
  }

  set text(text) {
    this.view.dispatch({
      changes: { from: 0, to: this.view.state.doc.length, insert: text },
      selection: { anchor: 0 },
      effects: [showAnswers.of({ answers: [], actions: {} }), showStep.of(null)],
    });
  }

  show(answers, actions) {
    this.view.dispatch({ effects: showAnswers.of({ answers, actions }) });
  }
  showStep(step) {
    this.view.dispatch({ effects: showStep.of(step) });
  }
  showFailure(number) {
    this.view.dispatch({ effects: showStep.of({ line: number, phase: "failure", text: "" }) });
  }
  light(number) {
    this.view.dispatch({ effects: lightLine.of(number) });
  }

  go(number, focus = true) {
    const at = line(this.view.state.doc, number);
    if (!at) return;
    this.view.dispatch({ selection: { anchor: at.from }, effects: EditorView.scrollIntoView(at.from, { y: "center" }) });
    if (focus) this.view.focus();
  }

  reveal(number) {
    const at = line(this.view.state.doc, number);
    if (at) this.view.dispatch({ effects: EditorView.scrollIntoView(at.to, { y: "nearest", yMargin: 60 }) });
  }

  // Change the lines of an edit; gives what was changed, for a note.
  apply(edit) {
    const { doc } = this.view.state,
      changed = [];
    const specs = changes(edit).flatMap(({ line: number, text }) => {
      const at = line(doc, number);
      if (!at) return [];
      changed.push({ line: number, before: at.text, after: text });
      return [text ? { from: at.from, to: at.to, insert: text } : { from: at.from, to: Math.min(at.to + 1, doc.length) }];
    });
    this.view.dispatch({ changes: specs, effects: [showAnswers.of({ answers: [], actions: {} }), showStep.of(null)] });
    return changed;
  }
}
