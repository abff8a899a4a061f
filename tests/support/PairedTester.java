import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import weka.core.Attribute;
import weka.core.DenseInstance;
import weka.core.Instances;
import weka.core.Range;
import weka.experiment.PairedCorrectedTTester;
import weka.experiment.PairedStats;
import weka.experiment.ResultMatrixPlainText;

/**
 * WEKA's corrected paired t-tester on values that are read from standard input.
 *
 * <p>Each line holds the training rows, the test rows, the folds of a run, and then the values of the base and of the
 * other learner of every fold, in turn. For each line, prints the mean difference (base minus other), its standard
 * deviation, the two-sided p-value and the sign of the significance (1 if the base is greater, -1 if it is smaller, 0 if
 * they are not told apart at .05); then a line "marks" with the marks of WEKA's table of all lines as datasets.
 */
public class PairedTester {
  public static void main(String[] words) throws Exception {
    List<String> lines = new ArrayList<>();
    BufferedReader reader = new BufferedReader(new InputStreamReader(System.in));
    for (String line = reader.readLine(); line != null; line = reader.readLine()) {
      lines.add(line.trim());
    }
    PairedCorrectedTTester tester = tester(results(lines));
    for (int dataset = 0; dataset < lines.size(); dataset++) {
      PairedStats paired = tester.calculateStatistics(specifier(tester, dataset), 0, 1, 6);
      System.out.printf(
          Locale.ROOT, "%.17g %.17g %.17g %d%n",
          paired.differencesStats.mean, paired.differencesStats.stdDev,
          paired.differencesProbability, paired.differencesSignificance);
    }
    tester.setResultMatrix(new ResultMatrixPlainText());
    tester.header(6);
    tester.multiResultsetFull(0, 6);
    StringBuilder marks = new StringBuilder("marks");
    for (int dataset = 0; dataset < lines.size(); dataset++) {
      int significance = tester.getResultMatrix().getSignificance(1, dataset);
      marks.append(significance == ResultMatrixPlainText.SIGNIFICANCE_WIN ? " v" : "");
      marks.append(significance == ResultMatrixPlainText.SIGNIFICANCE_LOSS ? " *" : "");
      marks.append(significance == ResultMatrixPlainText.SIGNIFICANCE_TIE ? " -" : "");
    }
    System.out.println(marks);
  }

  static weka.core.Instance specifier(PairedCorrectedTTester tester, int dataset) {
    for (weka.core.Instance row : tester.getInstances()) {
      if ((int) row.value(0) == dataset) {
        return row;
      }
    }
    throw new IllegalStateException();
  }

  static PairedCorrectedTTester tester(Instances results) throws Exception {
    PairedCorrectedTTester tester = new PairedCorrectedTTester();
    tester.setInstances(results);
    tester.setDatasetKeyColumns(new Range("1"));
    tester.setRunColumn(1);
    tester.setFoldColumn(2);
    tester.setResultsetKeyColumns(new Range("4"));
    tester.setSignificanceLevel(0.05);
    return tester;
  }

  static Instances results(List<String> lines) {
    List<String> datasets = new ArrayList<>();
    for (int number = 0; number < lines.size(); number++) {
      datasets.add("dataset" + number);
    }
    ArrayList<Attribute> columns = new ArrayList<>();
    columns.add(new Attribute("Key_Dataset", datasets));
    columns.add(new Attribute("Key_Run"));
    columns.add(new Attribute("Key_Fold"));
    columns.add(new Attribute("Key_Scheme", Arrays.asList("base", "other")));
    columns.add(new Attribute("Number_of_training_instances"));
    columns.add(new Attribute("Number_of_testing_instances"));
    columns.add(new Attribute("Percent_correct"));
    Instances results = new Instances("results", columns, 0);
    for (int dataset = 0; dataset < lines.size(); dataset++) {
      double[] numbers = Arrays.stream(lines.get(dataset).split(" +")).mapToDouble(Double::parseDouble).toArray();
      int folds = (int) numbers[2];
      for (int i = 3; i < numbers.length; i++) {
        int place = (i - 3) / 2;
        double run = place / folds + 1;
        double fold = place % folds + 1;
        double scheme = (i - 3) % 2;
        double[] row = {dataset, run, fold, scheme, numbers[0], numbers[1], numbers[i]};
        results.add(new DenseInstance(1, row));
      }
    }
    return results;
  }
}
