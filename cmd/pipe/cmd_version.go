package main

import (
	"github.com/spf13/cobra"

	"pipe/pipeline/inspect"
)

const versionText = `Version says what the program was built from, which object stores it can use, and which ONNX Runtime it finds. A runtime that
is missing is no failure here; pipe doctor says where it was searched.`

func versionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Say the version of the program and of its runtime library",
		Long:    versionText,
		Example: "  pipe version\n  pipe version --json",
		Args:    noArgs,
		RunE:    func(*cobra.Command, []string) error { return a.Print(inspect.DescribeBuild(a.runtime)) },
	}
}
