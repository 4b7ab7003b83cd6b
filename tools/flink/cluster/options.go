package cluster

import "path/filepath"

// Options says how to start a cluster.
type Options struct {
	Jars         string   // folder that Fetch has filled
	Folder       string   // for configuration, logs and temporary files; it must exist
	TaskManagers int      // with two slots each
	Environment  []string // more variables of its processes and their workers, as NAME=VALUE
}

// path returns a path below the folder of the cluster.
func (o Options) path(names ...string) string {
	return filepath.Join(append([]string{o.Folder}, names...)...)
}
