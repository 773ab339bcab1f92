package httpapi

// ReadsFile reports whether the scanner sees sql access a file of the host.
func ReadsFile(sql string) bool { return scanStatement(sql).readsFile }
