/** Identifiers as a reader writes them. */

const SPELLINGS: ReadonlyMap<string, string> = new Map(
  [
    ...["CPU", "GPU", "RSS", "I/O", "TF32", "cuDNN", "CUDA", "NCCL", "ROCm", "NVIDIA", "NumPy", "PyTorch"],
    ...["MKL", "OpenMP", "OMP", "MPS", "OS", "ID", "Lightning", "FLOPs", "LR", "DDP"],
  ].map((word) => [word.toLowerCase().replace("/", ""), word]),
);

/** Names that are written as they are. */
const NAMES: ReadonlySet<string> = new Set(["tb_aiperf"]);

/** Shapes as JSON without blanks: some traces spread them over many lines. */
export const compactShapes = (shapes: string): string => shapes.replace(/\s+/g, "");

/** `text` in at most `length` characters: what is too much goes from the middle, since names differ at both ends. */
export function shortened(text: string, length: number): string {
  if (text.length <= length) return text;
  const kept = Math.max(2, length) - 1;
  return `${text.slice(0, Math.ceil(kept / 2))}…${text.slice(text.length - Math.floor(kept / 2))}`;
}

/** "gpu_0_memory" as "GPU 0 memory", "num_workers" as "Num workers". */
export function wordsOf(key: string): string {
  if (NAMES.has(key)) return key;
  const text = key
    .split("_")
    .map((word) => SPELLINGS.get(word.toLowerCase()) ?? word)
    .join(" ");
  const first = text.split(" ")[0] ?? "";
  return SPELLINGS.has(first.toLowerCase()) ? text : text.charAt(0).toUpperCase() + text.slice(1);
}
