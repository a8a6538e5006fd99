//! Turns to a request body and back.

/** Roles that can be typed; a tool's result is a turn like a user's. */
export const ROLES = ['user', 'assistant', 'tool', 'system'];

/** An OpenAI Chat Completions body that holds the turns. */
export function toBody(turns) {
  const messages = turns.map(({ role, text }, index) =>
    role === 'tool' ? { role, tool_call_id: `call_${index}`, content: text } : { role, content: text });
  return JSON.stringify({ model: 'any', messages }, null, 2);
}

/** The turns of a body that holds nothing but texts of known roles; null for any other. */
export function toTurns(body) {
  let document;
  try {
    document = JSON.parse(body);
  } catch {
    return null;
  }
  const messages = document?.messages;
  const simple = Array.isArray(messages) && messages.length > 0 && document.system === undefined
    && messages.every((message) => ROLES.includes(message?.role) && typeof message.content === 'string'
      && Object.keys(message).every((key) => ['role', 'content', 'tool_call_id'].includes(key)));
  return simple ? messages.map(({ role, content }) => ({ role, text: content })) : null;
}
