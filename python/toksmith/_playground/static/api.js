// Questions to the server. A text is sent once and then named by the key that came back.

export class Refused extends Error {
  constructor(message, kind, status) {
    super(message);
    this.kind = kind;
    this.status = status;
  }
}

export class Gone extends Error {}

const sent = { text: null, key: null };
let watching = false;
export const connection = new EventTarget(); // `gone` and `back`

async function post(view, body) {
  let response;
  try {
    response = await fetch(`/api/${view}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  } catch {
    gone();
    throw new Gone('the server does not answer');
  }
  return response;
}

async function read(response) {
  if (response.ok) return response;
  const said = await response.json().catch(() => ({ error: response.statusText, kind: '' }));
  throw new Refused(said.error, said.kind, response.status);
}

// Asks a view about a text (null: about none), by key where the server has the text already.
export async function ask(view, text, values = {}) {
  if (text === null) return (await (await read(await post(view, values))).json()).result;
  if (sent.text === text) {
    const response = await post(view, { ...values, key: sent.key });
    if (response.status !== 409) return (await (await read(response)).json()).result;
  }
  const answer = await (await read(await post(view, { ...values, text }))).json();
  if (answer.key) Object.assign(sent, { text, key: answer.key });
  return answer.result;
}

export async function exported(view, format, text, values) {
  return (await read(await post(`${view}.${format}`, text === null ? values : { ...values, text }))).text();
}

export async function about() {
  return (await read(await fetch('/api/about'))).json();
}

function gone() {
  if (watching) return;
  watching = true;
  connection.dispatchEvent(new Event('gone'));
  const look = async () => {
    try {
      const found = await about();
      watching = false;
      sent.text = null;
      connection.dispatchEvent(new CustomEvent('back', { detail: found }));
    } catch {
      setTimeout(look, 1000);
    }
  };
  setTimeout(look, 500);
}
