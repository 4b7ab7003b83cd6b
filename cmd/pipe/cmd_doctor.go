package main

import (
	"github.com/spf13/cobra"

	"pipe/pipeline"
)

const doctorText = `Doctor shows the machine, where ONNX Runtime was looked for and found, which devices it offers, and proves it by
running a small graph; LightGBM, which boosted trees need, and libjpeg-turbo, which decodes JPEG faster, likewise. It
exits with 4 if the device asked for cannot work; without LightGBM and libjpeg-turbo everything else does.`

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
	checkup := pipeline.Doctor(c.Context(), a.runtime())
	if err := a.print(checkup); err != nil {
		return err
	}
	return checkup.Err(a.device)
}
