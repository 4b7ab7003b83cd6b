// Package lightgbm trains boosted trees with LightGBM's C library, which it loads at run time, reads the text of the
// trained model, and writes it as an ONNX file. Only that file is used for predictions in production; LightGBM's
// predictions and the Go reference are there for comparison.
//
// Binary classification is for experts ([Library.Train], [Model.Export]). Regression of the losses of all pairs is for
// policies ([Library.TrainRegressor], [Regressor]).
//
// Only this package handles LightGBM's memory and threads.
package lightgbm
