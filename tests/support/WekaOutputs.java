import java.io.BufferedReader;
import java.io.FileReader;
import java.util.Locale;
import weka.classifiers.AbstractClassifier;
import weka.classifiers.Classifier;
import weka.core.Instances;
import weka.core.Utils;
import weka.core.converters.ConverterUtils.DataSource;

/**
 * Prints what WEKA's classifiers say of some rows.
 *
 * <p>Called with a file of lines "rows to learn from, rows to predict, class and options", with tabs between. Prints for each
 * line the number of leaves and nodes of the tree (-1 if it is none), and then, for each row, the predicted class as a
 * number and the probabilities of the classes.
 */
public class WekaOutputs {
  public static void main(String[] words) throws Exception {
    BufferedReader jobs = new BufferedReader(new FileReader(words[0]));
    for (String job = jobs.readLine(); job != null; job = jobs.readLine()) {
      String[] parts = job.split("\t");
      Instances train = read(parts[0]);
      Instances test = read(parts[1]);
      String[] options = Utils.splitOptions(parts[2]);
      String name = options[0];
      options[0] = "";
      Classifier learner = AbstractClassifier.forName(name, options);
      learner.buildClassifier(train);
      System.out.printf("model %d %d%n", measure(learner, "measureNumLeaves"), measure(learner, "measureTreeSize"));
      for (int i = 0; i < test.numInstances(); i++) {
        StringBuilder line = new StringBuilder("row " + (int) learner.classifyInstance(test.instance(i)));
        for (double probability : learner.distributionForInstance(test.instance(i))) {
          line.append(String.format(Locale.ROOT, " %.6g", probability));
        }
        System.out.println(line);
      }
    }
  }

  static int measure(Classifier learner, String name) {
    if (!(learner instanceof weka.core.AdditionalMeasureProducer)) {
      return -1;
    }
    return (int) ((weka.core.AdditionalMeasureProducer) learner).getMeasure(name);
  }

  static Instances read(String file) throws Exception {
    Instances rows = DataSource.read(file);
    rows.setClassIndex(rows.numAttributes() - 1);
    return rows;
  }
}
