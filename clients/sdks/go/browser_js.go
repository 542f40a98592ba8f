package signalbox

import "syscall/js"

// isBrowser tells a page from Node.js, which runs WebAssembly too.
func isBrowser() bool {
	return js.Global().Get("window").Truthy() && js.Global().Get("document").Truthy()
}
