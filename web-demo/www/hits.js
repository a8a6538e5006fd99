//! Which reason of a report belongs to which text, and where in it.

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** For each event the reasons found in it. Both are in wire order, those of turns and those of other texts apart; `level` is the detector's, from which an
 * event is a hit. */
export function assign(events, report, level) {
  const found = events.map(() => []);
  const bytes = events.map((event) => encoder.encode(event.text).length);
  const scores = events.map(scoreOf(report));
  for (const turns of [true, false]) {
    let at = 0;
    let end = 0;
    const ofThese = report.reasons.filter((reason) => isTurn(reason.channel) === turns && reason.channel !== null);
    // The detector gives an event one reason at most.
    let detected = -1;
    for (const reason of ofThese.filter((reason) => reason.chunk !== null)) {
      const over = (index) => report.detector.scores[index] >= level - 1e-9;
      const next = events.findIndex((event, index) => index > detected && event.message === reason.turn && event.channel === reason.channel && over(index));
      if (next < 0) continue;
      detected = next;
      found[next].push(reason);
    }
    for (const reason of ofThese.filter((reason) => reason.chunk === null)) {
      const fits = (index) => events[index].turn === turns && events[index].message === reason.turn
        && events[index].channel === reason.channel && scores[index] !== 0
        && (reason.span === null || reason.span[1] <= bytes[index]);
      if (reason.span === null) {
        const index = events.findIndex((event) => event.message === reason.turn && event.channel === reason.channel);
        found[index]?.push(reason);
        continue;
      }
      // One message can hold several texts; within one text the ends of hits never fall.
      if (!(fits(at) && reason.span[1] >= end)) {
        const from = fits(at) ? at + 1 : at;
        const next = events.findIndex((_, index) => index >= from && fits(index));
        if (next < 0) continue;
        at = next;
      }
      end = reason.span[1];
      found[at].push(reason);
    }
  }
  return found;
}

/** Gives each event's score by its place; null for what is no turn. Call it on the events in order. */
export function scoreOf(report) {
  let turn = 0;
  return (event) => (event.turn ? report.turn_scores[turn++] : null);
}

function isTurn(channel) {
  return channel === 'user' || channel === 'tool_result';
}

/** Cuts a text at the spans of its reasons: a list of `{text, reasons}`. */
export function cut(text, reasons) {
  const spans = reasons.filter((reason) => reason.span !== null);
  const bytes = encoder.encode(text);
  const edges = [...new Set([0, bytes.length, ...spans.flatMap((reason) => reason.span)])].sort((a, b) => a - b);
  return edges.slice(1).map((end, index) => ({
    text: decoder.decode(bytes.subarray(edges[index], end)),
    reasons: spans.filter((reason) => reason.span[0] <= edges[index] && end <= reason.span[1]),
  }));
}
