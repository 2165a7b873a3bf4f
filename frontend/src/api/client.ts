/** Addresses of the server and one JSON request. */

let base = new URL("./", document.baseURI);

/** Set once by the entry, whose own address is known; every other module may sit in another folder after the build. */
export function setBase(entryUrl: string): void {
  base = new URL("./", entryUrl);
}

export type Parameters = Record<string, string | number | null | undefined>;

/** Address of a route; parameters without a value are left out, so that the server's defaults apply. */
export function address(route: string, parameters: Parameters = {}): string {
  const url = new URL(route, base);
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null && value !== undefined) url.searchParams.set(name, String(value));
  }
  return url.href;
}

/** A failed request, in words for the reader. */
export class RequestError extends Error {
  override readonly name = "RequestError";
}

async function reason(response: Response): Promise<string> {
  const fallback = `The server answered ${response.status} ${response.statusText}`.trim() + ".";
  try {
    const body: unknown = await response.json();
    if (typeof body === "object" && body !== null && "error" in body && typeof body.error === "string") {
      return body.error;
    }
  } catch {
    // Not JSON: a proxy's or the web server's own page, which says less than the status.
  }
  return fallback;
}

/** The JSON answer at `url`. `T` is what the contract promises; nothing is validated here. */
export async function getJson<T>(url: string, signal?: AbortSignal): Promise<T> {
  let response: Response;
  try {
    response = await fetch(url, signal ? { signal } : {});
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new RequestError("TensorBoard does not answer. Is it still running?");
  }
  if (!response.ok) throw new RequestError(await reason(response));
  try {
    return (await response.json()) as T;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new RequestError("The server's answer is not valid JSON.");
  }
}
