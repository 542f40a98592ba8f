import { type FileHandle, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncFolder } from '@signalbox/embedded-postgres/private-file.ts'
import { isObject, parseJsonObject } from '../../runtime/util/is-object.ts'
import { StartError } from './role.ts'

/** Where an unfinished file stands: everything before `bytes` is complete and on disk. */
export interface Checkpoint<State> {
  bytes: number
  state: State
}

/**
 * A file that is written in parts and survives a kill at any point. It has the name `path` only
 * when it is complete: until then it is `path.part`, with its last checkpoint in `path.part.json`.
 */
export class ResumableFile<State> {
  readonly #path: string
  readonly #file: FileHandle
  #bytes: number

  private constructor(path: string, file: FileHandle, bytes: number) {
    this.#path = path
    this.#file = file
    this.#bytes = bytes
  }

  /** Throws a StartError if the file, or an unfinished one, exists. */
  static async create<State>(path: string): Promise<ResumableFile<State>> {
    if (await exists(path)) throw new StartError(`${path} exists already; choose another name.`)
    if (await exists(checkpointPath(path))) {
      throw new StartError(
        `${partPath(path)} is an unfinished export; continue it with --resume, or delete it and ` +
          `${checkpointPath(path)}.`,
      )
    }
    return new ResumableFile<State>(path, await open(partPath(path), 'w', FILE_MODE), 0)
  }

  /** Opens an unfinished file and drops what was written after its checkpoint. */
  static async resume<State>(
    path: string,
    { bytes }: Checkpoint<State>,
  ): Promise<ResumableFile<State>> {
    const file = await open(partPath(path), 'r+')
    const { size } = await file.stat()
    if (size < bytes) {
      await file.close()
      throw new StartError(`${partPath(path)} was changed: delete it and start again.`)
    }
    await file.truncate(bytes)
    return new ResumableFile<State>(path, file, bytes)
  }

  /** Appends whole records, and records that they are on disk. */
  async append(content: Buffer, state: State): Promise<void> {
    for (let written = 0; written < content.length; ) {
      const rest = content.subarray(written)
      const { bytesWritten } = await this.#file.write(rest, 0, rest.length, this.#bytes + written)
      written += bytesWritten
    }
    await this.#file.datasync()
    this.#bytes += content.length
    await writeCheckpoint(this.#path, { bytes: this.#bytes, state })
  }

  /** Gives the file its name, which says that it is complete. */
  async finish(): Promise<void> {
    await this.#file.sync()
    await this.#file.close()
    await rename(partPath(this.#path), this.#path)
    syncFolder(dirname(this.#path))
    await rm(checkpointPath(this.#path), { force: true })
  }

  async close(): Promise<void> {
    await this.#file.close().catch(() => {})
  }
}

/** Null when there is no unfinished file. Throws a StartError for one that cannot be read. */
export async function readCheckpoint<State>(path: string): Promise<Checkpoint<State> | null> {
  if (!(await exists(checkpointPath(path))) || !(await exists(partPath(path)))) return null
  const content = parseJsonObject(await readFile(checkpointPath(path), 'utf8'))
  if (typeof content?.bytes !== 'number' || !isObject(content.state)) {
    throw new StartError(`${checkpointPath(path)} is no checkpoint: delete it and start again.`)
  }
  return { bytes: content.bytes, state: content.state as State }
}

export async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

/** Exports hold data of customers: only their owner reads them. */
const FILE_MODE = 0o600

/** By rename, so that the checkpoint is always a whole one. */
async function writeCheckpoint(path: string, checkpoint: Checkpoint<unknown>): Promise<void> {
  const temporary = `${checkpointPath(path)}.new`
  const file = await open(temporary, 'w', FILE_MODE)
  await file.writeFile(JSON.stringify(checkpoint))
  await file.datasync()
  await file.close()
  await rename(temporary, checkpointPath(path))
}

function partPath(path: string): string {
  return `${path}.part`
}

function checkpointPath(path: string): string {
  return `${path}.part.json`
}
