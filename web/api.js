// Asks the router. On an address that wants a token it is kept for this tab only, and sent with each question.
const key = "ebbgate-token";

export class NeedsToken extends Error {}

export function keepToken(token) {
  sessionStorage.setItem(key, token);
}

async function ask(path) {
  const token = sessionStorage.getItem(key);
  const answer = await fetch(path, {
    headers: token ? { Authorization: `Bearer ${token}` } : {},
    signal: AbortSignal.timeout(5000),
    cache: "no-store",
  });
  if (answer.status === 401) throw new NeedsToken("the router asks for a token");
  return answer;
}

export async function read(path) {
  const answer = await ask(path);
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}

// In words, whatever the status.
export async function readiness() {
  return (await (await ask("/readyz")).text()).trim();
}
