/**
 * The guest's half of TensorBoard's plugin messages. TensorBoard never published its library, so this is the protocol:
 * one MessageChannel, offered to the parent, over which both sides send JSON and answer each message once.
 */

import { framed } from "./frame";

interface Message {
  type: string;
  id: number;
  payload?: unknown;
  error: string | null;
  isReply: boolean;
}

/** TensorBoard may never answer (another version, another host): waiting ends after this. */
const REPLY_TIMEOUT_MS = 2000;

type Listener = () => void;

export class Guest {
  private readonly port: MessagePort;
  private readonly listeners = new Map<string, Listener[]>();
  private readonly waiting = new Map<number, (message: Message) => void>();
  private nextId = 0;

  constructor(port: MessagePort) {
    this.port = port;
    port.onmessage = (event: MessageEvent<unknown>) => this.receive(event.data);
  }

  on(type: string, listener: Listener): void {
    this.listeners.set(type, [...(this.listeners.get(type) ?? []), listener]);
  }

  send(type: string): Promise<unknown> {
    const id = this.nextId++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.delete(id);
        reject(new Error(`TensorBoard did not answer ${type} within ${REPLY_TIMEOUT_MS} ms`));
      }, REPLY_TIMEOUT_MS);
      this.waiting.set(id, (message) => {
        clearTimeout(timer);
        if (message.error) reject(new Error(message.error));
        else resolve(message.payload);
      });
      this.post({ type, id, payload: null, error: null, isReply: false });
    });
  }

  private post(message: Message): void {
    this.port.postMessage(JSON.stringify(message));
  }

  private receive(data: unknown): void {
    const message = parse(data);
    if (!message) return;
    if (message.isReply) {
      const resolve = this.waiting.get(message.id);
      this.waiting.delete(message.id);
      resolve?.(message);
      return;
    }
    // TensorBoard waits for a reply to each push.
    this.post({ type: message.type, id: message.id, payload: null, error: null, isReply: true });
    for (const listener of this.listeners.get(message.type) ?? []) listener();
  }
}

function parse(data: unknown): Message | null {
  if (typeof data !== "string") return null;
  try {
    const value = JSON.parse(data) as Partial<Message>;
    if (typeof value.type !== "string" || typeof value.id !== "number") return null;
    return {
      type: value.type,
      id: value.id,
      payload: value.payload,
      error: value.error ?? null,
      isReply: value.isReply === true,
    };
  } catch {
    return null;
  }
}

let guest: Guest | null = null;

/** Calls `onReload` when TensorBoard has read new data; never when no page frames us. */
export function listenForReload(onReload: Listener): void {
  if (!framed) return;
  const channel = new MessageChannel();
  guest = new Guest(channel.port1);
  guest.on("experimental.DataReloaded", onReload);
  guest.on("experimental.RunsChanged", onReload);
  window.parent.postMessage("experimental.bootstrap", "*", [channel.port2]);
}

/** Names of all runs that TensorBoard knows, ours or not; null when it does not say. */
export async function runsOfHost(): Promise<string[] | null> {
  try {
    const runs = await guest?.send("experimental.GetRuns");
    return Array.isArray(runs) ? runs.filter((run) => typeof run === "string") : null;
  } catch {
    return null;
  }
}
