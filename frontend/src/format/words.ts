/** Identifiers as a reader writes them. */

const SPELLINGS: ReadonlyMap<string, string> = new Map(
  [
    ...["CPU", "GPU", "RSS", "I/O", "TF32", "cuDNN", "CUDA", "NCCL", "ROCm", "NVIDIA", "NumPy", "PyTorch"],
    ...["MKL", "OpenMP", "OMP", "MPS", "OS", "ID", "Lightning", "FLOPs", "LR", "DDP"],
  ].map((word) => [word.toLowerCase().replace("/", ""), word]),
);

/** Names that are written as they are. */
const NAMES: ReadonlySet<string> = new Set(["tb_aiperf"]);

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
