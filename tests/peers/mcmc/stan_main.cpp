// Stan's NUTS with its defaults and a diagonal or a dense metric, chains on threads, draws kept in memory and written at the end.
//
//   model DATA.json OUT WARMUP DRAWS CHAINS SEED diagonal|dense
//
// OUT is a line with the names of the columns, then the draws as 64-bit numbers, chain after chain.
#include <stan/callbacks/interrupt.hpp>
#include <stan/callbacks/logger.hpp>
#include <stan/callbacks/structured_writer.hpp>
#include <stan/callbacks/writer.hpp>
#include <stan/io/empty_var_context.hpp>
#include <stan/io/json/json_data.hpp>
#include <stan/math/prim/core/init_threadpool_tbb.hpp>
#include <stan/model/model_base.hpp>
#include <stan/services/sample/hmc_nuts_dense_e_adapt.hpp>
#include <stan/services/sample/hmc_nuts_diag_e_adapt.hpp>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

stan::model::model_base &new_model(stan::io::var_context &data, unsigned int seed, std::ostream *messages);

struct Draws : stan::callbacks::writer {
  std::vector<std::string> names;
  std::vector<double> values;
  using stan::callbacks::writer::operator();
  void operator()(const std::vector<std::string> &columns) override { names = columns; }
  void operator()(const std::vector<double> &state) override { values.insert(values.end(), state.begin(), state.end()); }
};

int main(int count, char **arguments) {
  if (count != 8) return 2;
  const int warmup = std::atoi(arguments[3]), draws = std::atoi(arguments[4]), chains = std::atoi(arguments[5]);
  stan::math::init_threadpool_tbb();
  std::ifstream file(arguments[1]);
  stan::json::json_data data(file);
  auto &model = new_model(data, 0, &std::cerr);

  std::vector<std::shared_ptr<stan::io::empty_var_context>> starts;
  for (int chain = 0; chain < chains; ++chain) starts.push_back(std::make_shared<stan::io::empty_var_context>());
  std::vector<Draws> kept(chains);
  std::vector<stan::callbacks::writer> unused(chains), diagnostics(chains);
  stan::callbacks::interrupt interrupt;
  stan::callbacks::logger logger;

  const auto began = std::chrono::steady_clock::now();
  const auto sample = [&](auto sampler) {
    return sampler(model, chains, starts, std::atoi(arguments[6]), 1, 2.0, warmup, draws, 1, false, 0, 1.0, 0.0, 10, 0.8, 0.05, 0.75,
                   10.0, 75, 50, 25, interrupt, logger, unused, kept, diagnostics);
  };
  const bool dense = std::string(arguments[7]) == "dense";
  const int failed = dense ? sample([](auto &&...all) { return stan::services::sample::hmc_nuts_dense_e_adapt(all...); })
                           : sample([](auto &&...all) { return stan::services::sample::hmc_nuts_diag_e_adapt(all...); });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  if (failed) return failed;

  std::ofstream out(arguments[2], std::ios::binary);
  for (const auto &name : kept[0].names) out << name << ',';
  out << '\n';
  for (const auto &chain : kept) out.write(reinterpret_cast<const char *>(chain.values.data()), chain.values.size() * sizeof(double));
  std::cout << took.count() << std::endl;
}
