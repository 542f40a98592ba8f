import { execFileSync } from 'node:child_process'
import { mkdirSync, statfsSync } from 'node:fs'

/** A file system of its own for a data folder, which can be made full without harm to others. */
export interface StoreVolume {
  /** Leaves room for a page or two, until `empty`. */
  fill(): void
  empty(): void
  unmount(): void
}

const SIZE_BYTES = 3 * 1_024 ** 3
/** Free bytes on the full disk, the least first: what a server writes meanwhile is used already. */
const FREE_BYTES = [8_192, 65_536, 1_048_576]

/** A tmpfs, or null where this account may not mount one: then the disk is never filled. */
export function mountStoreVolume(path: string): StoreVolume | null {
  mkdirSync(path, { recursive: true })
  if (!mount('-t', 'tmpfs', '-o', `size=${SIZE_BYTES},mode=0755`, 'tmpfs', path)) return null
  const resize = (bytes: number) => mount('-o', `remount,size=${bytes}`, path)
  return {
    fill() {
      for (const free of FREE_BYTES) {
        const { blocks, bfree, bsize } = statfsSync(path)
        if (resize((blocks - bfree) * bsize + free)) return
      }
    },
    empty: () => void resize(SIZE_BYTES),
    unmount: () => void run('umount', ['-l', path]),
  }
}

function mount(...args: string[]): boolean {
  return run('mount', args)
}

function run(program: string, args: string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
