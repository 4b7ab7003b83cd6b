package main

import (
	"github.com/spf13/cobra"

	"pipe/pipeline/inspect"
)

const doctorText = `Doctor describes the machine, shows where ONNX Runtime was searched and found and which devices it offers, and runs a small
graph. It also looks for two optional libraries: LightGBM, for boosted trees, and libjpeg-turbo, for faster JPEG decoding.
The exit code is 4 if the device of --device does not work.`

const doctorExamples = `  pipe doctor
  pipe doctor --device cuda
  pipe doctor --runtime /opt/onnxruntime/lib --json`

func doctorCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "doctor",
		Short:   "Check the machine and the runtime library",
		Long:    doctorText,
		Example: doctorExamples,
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return runDoctor(c, a) },
	}
}

func runDoctor(c *cobra.Command, a *app) error {
	checkup := inspect.Doctor(c.Context(), a.runtime)
	if err := a.Print(checkup); err != nil {
		return err
	}
	return checkup.Err(a.runtime.Device)
}
