import type { Database } from '../service/db/database.ts'
import { dumpDatabase, tracesIn } from './database-dump.ts'

/** Everything that the store and its catalogue hold, as one text; see `dumpDatabase`. */
export async function storedText(database: Database): Promise<string> {
  return (await dumpDatabase(database)).join('\n')
}

/** The lines of a text that hold what stands for a person's e-mail address, in any writing. */
export function tracesOf(email: string, digest: string, text: string): string[] {
  return tracesIn(text.split('\n'), [email, digest])
}
