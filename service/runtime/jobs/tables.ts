import type { Generated, TablePlacement } from '../db/tables.ts'

/** When each scheduled job last succeeded. graphile-worker has a schema of its own. */
interface JobTables {
  job_records: {
    name: string
    known_at: Generated<Date>
    succeeded_at: Date | null
  }
}

declare module '../db/tables.ts' {
  interface Tables extends JobTables {}
}

export const JOB_PLACEMENTS: Record<keyof JobTables, TablePlacement> = {
  job_records: 'local',
}
