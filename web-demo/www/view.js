//! Shows a report: verdict, what was odd about the body, and each text with its hits.
import { el } from './dom.js';
import { assign, cut, scoreOf } from './hits.js';
import { number } from './parts.js';

const MEANING = {
  allow: 'A gateway lets this request pass.',
  flag: 'A gateway lets this request pass, counts it and logs the rule.',
  block: 'A gateway in enforce mode refuses this request.',
};

/** The verdict with the rule that decided it. */
export function renderVerdict(report) {
  const decided = report.rule === null ? null
    : el('p', {}, 'Decided by ', el('code', {}, report.rule), report.turn === null ? '.' : ` in message ${report.turn}.`);
  return [el('p', { className: `badge ${report.verdict}` }, report.verdict), el('p', {}, MEANING[report.verdict] ?? ''), decided]
    .filter((child) => child !== null);
}

/** The issues, each with its place in the body; `show` is called with the offset (in UTF-16 units) to go to. */
export function renderIssues(report, body, about, show) {
  if (report.issues.length === 0) {
    return [];
  }
  const item = ({ issue, at }) => {
    const place = locate(body, at);
    const known = about.issues[issue];
    const link = el('button', { type: 'button', className: 'link', onclick: () => show(place.offset) },
      `line ${place.line}, column ${place.column}`);
    return el('li', { className: known?.effect ?? 'note' }, el('code', {}, issue), ' at ', link, `: ${known?.meaning ?? ''}`,
      el('pre', { className: 'excerpt' }, place.before, el('mark', {}, place.here), place.after));
  };
  return [el('h2', {}, 'Odd about this body'), el('ul', {}, ...report.issues.map(item))];
}

/** Where byte `at` of the body stands for a person: line, column, and a little of the text around it. */
export function locate(body, at) {
  const bytes = new TextEncoder().encode(body);
  const offset = new TextDecoder().decode(bytes.subarray(0, at)).length;
  const lines = body.slice(0, offset).split('\n');
  const column = lines.at(-1).length + 1;
  const lineEnd = body.indexOf('\n', offset);
  const rest = body.slice(offset, lineEnd < 0 ? body.length : lineEnd);
  return { offset, line: lines.length, column, before: lines.at(-1).slice(-40), here: rest.slice(0, 1) || '⏎', after: rest.slice(1, 40) };
}

/** Each text of the body: who spoke, its scores, its hits in place. */
export function renderEvents(report, events, categories, levels) {
  const reasons = assign(events, report, levels.event_block);
  const scores = events.map(scoreOf(report));
  const colour = (reason) => `category-${Math.max(0, categories.indexOf(reason.category))}`;
  return events.map((event, index) => {
    const mark = ({ text, reasons: hits }) => {
      const phrase = hits.find((hit) => hit.chunk === null);
      const title = hits.map((hit) => hit.rule).join(', ');
      return hits.length === 0 ? visible(text)
        : phrase === undefined ? el('span', { className: 'chunk', title }, visible(text))
          : el('mark', { className: colour(phrase), title }, visible(text));
    };
    const rules = [...new Map(reasons[index].map((reason) => [reason.rule, reason])).values()];
    const chips = rules.map((reason) => el('li', { className: reason.category === null ? '' : colour(reason) }, reason.rule));
    const message = event.message === null ? 'outside the messages' : `${event.message}`;
    return el('li', { className: scores[index] === null ? 'aside' : 'turn' },
      el('div', { className: 'event-head' }, el('span', { className: 'number' }, message), el('span', { className: 'role' }, event.channel.replace('_', ' ')),
        detector(report, index, levels), bar(scores[index])),
      el('p', { className: 'text' }, ...cut(event.text, reasons[index]).map(mark)),
      chips.length === 0 ? null : el('ul', { className: 'chips', ariaLabel: 'Rules hit' }, ...chips));
  });
}

/** Separate records within one text are set apart by a character that has no shape. */
function visible(text) {
  return text.replaceAll('\u001f', ' · ');
}

/** What the detector says of a text. */
function detector(report, index, levels) {
  if (report.detector === null) {
    return null;
  }
  const score = report.detector.scores[index];
  return el('span', { className: score >= levels.event_block ? 'detector over' : 'detector', title: 'Score of the detector' }, `detector ${number(score)}`);
}

function bar(score) {
  if (score === null) {
    return el('span', { className: 'unscored' }, 'not scored');
  }
  return el('span', { className: 'bar-with-number' },
    el('span', { className: 'bar', role: 'img', ariaLabel: `Turn score ${number(score)}` }, el('span', { style: { width: `${score * 100}%` } })),
    el('span', { className: 'amount' }, number(score)));
}
