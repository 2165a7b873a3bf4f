/** A number as the server tells it; null: not measured. */
export type Measured = number | null;
