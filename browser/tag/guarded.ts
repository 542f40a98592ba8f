/** Runs it; what it throws is a warning on the console. The tag never breaks the page. */
export function guarded(run: () => void): void {
  try {
    run()
  } catch (error) {
    console.warn('signalbox', error)
  }
}
