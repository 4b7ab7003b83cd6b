package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/onnx"
)

// edit is a program for the scripts that rewrites a file with one thing changed:
//
//	edit metadata IN OUT KEY VALUE      a model's metadata
//	edit features IN OUT ROW VALUE      every feature of a row of a tensor, counted from 0
//	edit fee IN OUT NAME FEE            the fee of an expert or advice of a tensor
func edit() {
	edits := map[string]func(in, out string, args []string) error{
		"metadata": editMetadata, "features": editFeatures, "fee": editFee,
	}
	what, args := os.Args[1], os.Args[2:]
	if err := edits[what](args[0], args[1], args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func editMetadata(in, out string, args []string) error {
	m, err := onnx.ReadFile(in)
	if err != nil {
		return err
	}
	about := m.Metadata()
	about[args[0]] = args[1]
	m.SetMetadata(about)
	return m.WriteFile(out)
}

func editFeatures(in, out string, args []string) error {
	t, err := costs.Read(context.Background(), storage.File(in), costs.ReadOptions{})
	if err != nil {
		return err
	}
	row, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	v, err := strconv.ParseFloat(args[1], 32)
	if err != nil {
		return err
	}
	for i := range t.Row(row) {
		t.Row(row)[i] = float32(v)
	}
	return costs.Write(context.Background(), storage.File(out), t)
}

func editFee(in, out string, args []string) error {
	t, err := costs.Read(context.Background(), storage.File(in), costs.ReadOptions{})
	if err != nil {
		return err
	}
	fee, err := strconv.ParseFloat(args[1], 64)
	if err != nil {
		return err
	}
	if j := t.Actions.ExpertIndex(args[0]); j >= 0 {
		t.Actions.Experts[j].Fee = fee
	} else {
		t.Actions.Advice[t.Actions.AdviceIndex(args[0])].Fee = fee
	}
	return costs.Write(context.Background(), storage.File(out), t)
}
