//go:build !js

package signalbox

func isBrowser() bool { return false }
