import { type FileHandle, open } from 'node:fs/promises'
import type { EventBody } from '../event-fields.ts'

/** A line that was not stored, and why. */
export interface RefusedLine {
  line: number
  reason: string
  errors?: Record<string, string[]>
  /** As it would be sent, with its id; absent when the line cannot be read. */
  event?: EventBody
  /** The line, when it has no event. */
  text?: string | null
}

/** Refused lines as NDJSON, for correction. Written as they occur, so that a crash loses none. */
export class RefusedFile {
  readonly path: string
  #file: Promise<FileHandle> | null = null
  #writes: Promise<unknown> = Promise.resolve()
  count = 0

  constructor(path: string) {
    this.path = path
  }

  /** Resolves when the line is written. The first one replaces the file of an earlier run. */
  async add(line: RefusedLine): Promise<void> {
    this.count += 1
    this.#file ??= open(this.path, 'w', 0o600)
    const file = await this.#file
    this.#writes = this.#writes.then(() => file.write(`${JSON.stringify(line)}\n`))
    await this.#writes
  }

  async close(): Promise<void> {
    const file = await this.#file
    await file?.close()
  }
}
