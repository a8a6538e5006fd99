//! The page: two ways to enter a conversation, judged after every change.
import { toBody, toTurns } from './conversation.js';
import { byId, el } from './dom.js';
import { Editor } from './editor.js';
import { judge, load, read } from './engine.js';
import { renderScore, renderTrajectory } from './parts.js';
import { renderEvents, renderIssues, renderVerdict } from './view.js';

const START = [{ role: 'user', text: 'Hello! Can you help me plan a small garden?' }, { role: 'user', text: '' }];
const body = byId('body');
const modes = [...document.querySelectorAll('input[name=mode]')];
const editor = new Editor(byId('turns'), () => update());
let about;

function mode() {
  return modes.find((input) => input.checked).value;
}

/** Shows one way in; what was entered in the other comes along where it can. */
function setMode(wanted) {
  modes.forEach((input) => { input.checked = input.value === wanted; });
  byId('turns-pane').hidden = wanted !== 'turns';
  byId('body-pane').hidden = wanted !== 'body';
}

function currentBody() {
  return mode() === 'turns' ? toBody(editor.turns) : body.value;
}

function update() {
  const text = currentBody();
  if (text.trim() === '') {
    ['verdict', 'score', 'detector', 'issues', 'events', 'report'].forEach((id) => byId(id).replaceChildren());
    byId('verdict').append(el('p', { className: 'hint' }, 'Paste a request body to see it judged.'));
    return;
  }
  const profile = byId('profile').value;
  const report = judge(text, { profile });
  // Said aloud by screen readers, so it is touched only when it changes.
  const verdict = el('div', {}, ...renderVerdict(report));
  if (verdict.textContent !== byId('verdict').textContent) {
    byId('verdict').replaceChildren(...verdict.childNodes);
  }
  byId('score').replaceChildren(...renderScore(report, { profile, ...about.policy.conversation }));
  byId('detector').replaceChildren(...renderTrajectory(report, about.detector));
  byId('issues').replaceChildren(...renderIssues(report, text, about, goTo));
  byId('events').replaceChildren(...renderEvents(report, read(text), Object.keys(about.categories), about.detector));
  byId('report').textContent = JSON.stringify(report, null, 2);
}

/** Puts the cursor at a place of the body. */
function goTo(offset) {
  const text = currentBody();
  setMode('body');
  body.value = text;
  body.focus();
  body.setSelectionRange(offset, offset + 1);
}

function open(text) {
  const turns = toTurns(text);
  body.value = text;
  if (turns !== null) {
    editor.turns = turns;
  } else {
    setMode('body');
  }
  update();
}

async function loadExamples() {
  const response = await fetch('examples.jsonl');
  const lines = (await response.text()).split('\n').filter((line) => line !== '');
  const select = byId('example');
  for (const { id, about: what, body: example, expect } of lines.map((line) => JSON.parse(line))) {
    select.append(el('option', { value: JSON.stringify(example, null, 2), title: what }, `${expect.verdict}: ${id.replaceAll('_', ' ')}`));
  }
  select.addEventListener('change', () => select.value === '' || open(select.value));
}

async function start() {
  about = await load();
  byId('about').textContent = `Floodmark ${about.version} (${about.git}), ${about.patterns} patterns, tables ${about.tables}, detector ${about.detector.version}`;
  modes.forEach((input) => input.addEventListener('change', () => {
    const wanted = mode();
    if (wanted === 'body') {
      body.value = toBody(editor.turns);
    } else {
      editor.turns = toTurns(body.value) ?? editor.turns;
    }
    setMode(wanted);
    update();
  }));
  body.addEventListener('input', update);
  byId('profile').addEventListener('change', update);
  byId('add').addEventListener('click', () => editor.add());
  editor.turns = START;
  setMode('turns');
  update();
  await loadExamples();
  document.body.dataset.ready = 'yes';
}

start().catch((error) => {
  byId('failure').hidden = false;
  byId('failure').textContent = `This page does not work here: ${error}`;
  console.error(error);
});
