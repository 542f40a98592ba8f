import type { TargetConfig } from '../platform.ts'

/** Where Meta receives events. */
export interface MetaTarget {
  datasetId: string
}

/** Dataset IDs are numbers of about 16 digits; the ID becomes a part of a URL's path. */
const DATASET_ID = /^\d{1,20}$/

/** Reads the stored `config` of a destination: `{"dataset_id": "..."}`. */
export function parseMetaTarget({ dataset_id }: TargetConfig): MetaTarget | null {
  return typeof dataset_id === 'string' && DATASET_ID.test(dataset_id)
    ? { datasetId: dataset_id }
    : null
}
