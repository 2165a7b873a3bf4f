/** Handing a file to the reader. */

/** A run's name, or any text, as part of a file name. */
export function fileName(...parts: string[]): string {
  return parts.map((part) => part.replace(/[^\p{L}\p{N}._-]+/gu, "_")).join("-");
}

export function download(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The click only queues the download; the address has to outlive it.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
