import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import weka.classifiers.AbstractClassifier;
import weka.classifiers.Classifier;
import weka.core.Instances;
import weka.core.Utils;
import weka.core.converters.ConverterUtils.DataSource;

/**
 * Times one of WEKA's learners: it learns and predicts again and again, for the virtual machine compiles what runs
 * often.
 *
 * <p>Called with CPU seconds, a file to learn from, a file to predict, and a class with its options. Prints CPU seconds of
 * this thread, of the first round and the median of the second half of the rounds; the number of rounds; accuracy, or
 * R²; and how much CPU time the whole process took in that half for each second of this thread, for garbage is
 * collected, and code compiled, beside it.
 */
public class Weka {
  public static void main(String[] words) throws Exception {
    double seconds = Double.parseDouble(words[0]);
    Instances train = read(words[1]);
    Instances test = read(words[2]);
    String[] options = Utils.splitOptions(words[3]);
    String name = options[0];
    options[0] = "";

    List<Double> fits = new ArrayList<>();
    List<Double> predictions = new ArrayList<>();
    List<Double> processes = new ArrayList<>();
    double[] predicted = new double[test.numInstances()];
    long began = thread();
    while (fits.size() < 2 || thread() - began < seconds * 1e9) {
      Classifier learner = AbstractClassifier.forName(name, options.clone());
      long process = process();
      long start = thread();
      learner.buildClassifier(train);
      long fitted = thread();
      for (int i = 0; i < predicted.length; i++) {
        predicted[i] = learner.classifyInstance(test.instance(i));
      }
      predictions.add((thread() - fitted) / 1e9);
      fits.add((fitted - start) / 1e9);
      processes.add((process() - process) / 1e9);
    }
    System.out.printf(
        Locale.ROOT,
        "measured first_fit=%.9f fit=%.9f first_predict=%.9f predict=%.9f rounds=%d quality=%.6f beside=%.3f%n",
        fits.get(0), median(late(fits)), predictions.get(0), median(late(predictions)), fits.size(),
        quality(test, predicted), sum(late(processes)) / (sum(late(fits)) + sum(late(predictions))));
  }

  static Instances read(String file) throws Exception {
    Instances rows = DataSource.read(file);
    rows.setClassIndex(rows.numAttributes() - 1);
    return rows;
  }

  static long thread() {
    return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
  }

  static long process() {
    return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
  }

  static List<Double> late(List<Double> times) {
    return times.subList(times.size() / 2, times.size());
  }

  static double sum(List<Double> times) {
    return times.stream().mapToDouble(time -> time).sum();
  }

  static double median(List<Double> times) {
    double[] sorted = times.stream().mapToDouble(time -> time).sorted().toArray();
    return (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
  }

  static double quality(Instances test, double[] predicted) {
    double mean = test.classAttribute().isNominal() ? 0 : test.meanOrMode(test.classIndex());
    double right = 0;
    double error = 0;
    double variation = 0;
    for (int i = 0; i < predicted.length; i++) {
      double truth = test.instance(i).classValue();
      right += predicted[i] == truth ? 1 : 0;
      error += Math.pow(predicted[i] - truth, 2);
      variation += Math.pow(truth - mean, 2);
    }
    return test.classAttribute().isNominal() ? right / predicted.length : 1 - error / variation;
  }
}
